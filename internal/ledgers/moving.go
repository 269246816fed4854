package ledgers

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/patch"
)

// Hold puts the finalizer on the owner, before anything is created for it, and in the same write the annotation that makes
// `clusterctl move` wait: there is no other write before the first create.
func (s *Store) Hold(ctx context.Context, owner Owner, finalizer string) error {
	object := ObjectOf(owner)
	if controllerutil.ContainsFinalizer(object, finalizer) {
		return nil
	}
	before := object.DeepCopyObject().(client.Object)
	Annotate(object, clusterctlv1.BlockMoveAnnotation, "true")
	controllerutil.AddFinalizer(object, finalizer)
	return patch.Finalizers(ctx, s.Client, before, object)
}

// blockMove makes `clusterctl move` wait for what is about to be created, for an owner that could be moved until now. Only objects
// that it moves are checked for a pause.
func (l *Ledger) blockMove(ctx context.Context) (blocked bool, err error) {
	owner := ObjectOf(l.owner)
	if _, already := owner.GetAnnotations()[clusterctlv1.BlockMoveAnnotation]; already || l.store.Paused == nil {
		return false, nil
	}
	version, err := l.patchBlock(ctx, owner.GetResourceVersion(), `"true"`)
	switch {
	case err == nil:
		owner.SetResourceVersion(version)
	case apierrors.IsConflict(err): // our copy is stale, and stays so: it must not overwrite the newest
		_, err = l.patchBlock(ctx, "", `"true"`)
	}
	if apierrors.IsNotFound(err) || isAnother(err) {
		return false, phases.ErrStale
	} else if err != nil {
		return false, fmt.Errorf("hold up a move: %w", err)
	}
	Annotate(owner, clusterctlv1.BlockMoveAnnotation, "true")
	return true, nil
}

// unblockMove undoes blockMove, in memory too: nothing is created, and the client that paused the owner may be waiting.
func (l *Ledger) unblockMove(ctx context.Context) error {
	annotations := maps.Clone(ObjectOf(l.owner).GetAnnotations())
	delete(annotations, clusterctlv1.BlockMoveAnnotation)
	ObjectOf(l.owner).SetAnnotations(annotations)
	_, err := l.patchBlock(ctx, "", "null")
	if isAnother(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// isAnother reports whether a patch met another object of that name: a UID can't be changed.
func isAnother(err error) bool {
	cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return found && cause.Field == "metadata.uid" || apierrors.IsConflict(err)
}

// patchBlock writes the annotation of exactly this owner; with a version, only at that version.
func (l *Ledger) patchBlock(ctx context.Context, version, value string) (newVersion string, _ error) {
	object := ObjectOf(l.owner).DeepCopyObject().(client.Object) // the answer would overwrite the status that is being built in memory
	if version != "" {
		version = fmt.Sprintf(`"resourceVersion":%q,`, version)
	}
	err := l.store.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
		`{"metadata":{%s"uid":%q,"annotations":{%q:%s}}}`, version, object.GetUID(), clusterctlv1.BlockMoveAnnotation, value)))
	return object.GetResourceVersion(), err
}

// Held gives a copy of the owner from before Hold what Hold has written.
func Held(before, owner client.Object) {
	if value, held := owner.GetAnnotations()[clusterctlv1.BlockMoveAnnotation]; held {
		Annotate(before, clusterctlv1.BlockMoveAnnotation, value)
	}
}

// Annotate gives an object an annotation, in memory.
func Annotate(object client.Object, name, value string) {
	all := maps.Clone(object.GetAnnotations())
	if all == nil {
		all = map[string]string{}
	}
	all[name] = value
	object.SetAnnotations(all)
}

// MayMove lets `clusterctl move` take the owner, if nothing is pending. In memory only: the caller writes it with its other
// changes.
func (l *Ledger) MayMove() {
	if l.pends() {
		return
	}
	all := maps.Clone(l.owner.GetAnnotations())
	delete(all, clusterctlv1.BlockMoveAnnotation)
	l.owner.SetAnnotations(all)
}

// LetMove lets `clusterctl move` take a paused owner, unless a create is pending that the service may still work on. Once it
// can't, the resource is found by its tag wherever the ledger is then.
func (s *Store) LetMove(ctx context.Context, owner Owner, settle time.Duration, now time.Time) (ctrl.Result, error) {
	if _, blocked := owner.GetAnnotations()[clusterctlv1.BlockMoveAnnotation]; !blocked {
		return ctrl.Result{}, nil
	}
	l, err := Of(ctx, s.Live, s.Client.Scheme(), owner)
	if err != nil {
		return ctrl.Result{}, err
	}
	var wait time.Duration
	for i := 0; l != nil && i < len(l.Spec.Entries); i++ {
		if p := l.Spec.Entries[i]; p.State == ledgerv1.Pending && p.At != nil {
			wait = max(wait, p.At.Add(settle).Sub(now))
		}
	}
	if wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, clusterctlv1.BlockMoveAnnotation))
	return ctrl.Result{}, client.IgnoreNotFound(s.Client.Patch(ctx, ObjectOf(owner), patch))
}
