package dpuset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/naming"
	"github.com/bedplate/bedplate/internal/dpf/status"
	"github.com/bedplate/bedplate/internal/patch"
)

// firstConflict of problems, if there is one: then another look is all that is needed.
func firstConflict(problems []error) error {
	if i := slices.IndexFunc(problems, apierrors.IsConflict); i >= 0 {
		return problems[i]
	}
	return errors.Join(problems...)
}

// show what there is.
func (f *fanOut) show(set object, applied, ready int32, unwritten, waiting []string) {
	s := f.status(set)
	s.NumberApplied, s.NumberReady = applied, ready
	if applied == 0 && len(unwritten) == 0 {
		waiting = []string{"the nodeSelector chooses no node"}
	} else {
		waiting = append(waiting, unwritten...)
	}
	slices.Sort(unwritten)
	slices.Sort(waiting)
	status.Done(set, f.reconciled, svcv1.ReasonPending, unwritten)
	status.Done(set, f.ready, svcv1.ReasonPending, waiting)
}

// create the child of a node. Its name is SET-NODE; where that is too long, or that of another set's, it has a hash.
func (f *fanOut) create(ctx context.Context, set object, node string) error {
	unique := naming.Unique(naming.Object, set.GetName()+"-"+node, set.GetName(), node)
	name := set.GetName() + "-" + node
	if len(name) > naming.Object {
		name = unique
	}
	err := f.createNamed(ctx, set, node, name)
	if apierrors.IsAlreadyExists(err) && name != unique {
		other := f.child.DeepCopyObject().(object)
		key := client.ObjectKey{Namespace: set.GetNamespace(), Name: name}
		if readErr := f.live.Get(ctx, key, other); readErr != nil || metav1.IsControlledBy(other, set) {
			return fmt.Errorf("create %s: %w", name, errors.Join(err, client.IgnoreNotFound(readErr))) // the cache will have it
		}
		err = f.createNamed(ctx, set, node, unique)
	}
	if err != nil {
		return fmt.Errorf("create what node %s gets: %w", node, err)
	}
	return nil
}

func (f *fanOut) createNamed(ctx context.Context, set object, node, name string) error {
	child := f.want(set, node)
	child.SetNamespace(set.GetNamespace())
	child.SetName(name)
	if err := controllerutil.SetControllerReference(set, child, f.Scheme()); err != nil {
		return err
	}
	return f.Create(ctx, child)
}

// delete what a set has made. The set stays until all of it is gone: otherwise the components that agents are of could be removed before
// these have cleaned up. One that is gone already, or has no finalizer, has its children deleted by Kubernetes.
func (f *fanOut) delete(ctx context.Context, name client.ObjectKey, set object) error {
	children, err := f.childrenOf(ctx, f.live, name) // the cache may not have the newest yet
	if err != nil {
		return err
	}
	if !controllerutil.ContainsFinalizer(set, f.finalizer) {
		return f.releaseDead(ctx, children)
	}
	if len(children) == 0 {
		return patch.RemoveFinalizer(ctx, f.Client, set, f.finalizer)
	}
	before := set.DeepCopyObject().(object)
	var left []string
	for _, child := range children {
		left = append(left, "node "+f.node(child))
	}
	slices.Sort(left)
	status.Set(set, svcv1.ReadyCondition, svcv1.ReasonAwaitingDeletion, "what it has made is still on "+status.List(left))
	return errors.Join(f.removeStale(ctx, children), patch.All(ctx, f.Client, before, set))
}

// removeStale deletes what no node should have any more.
func (f *fanOut) removeStale(ctx context.Context, stale []object) error {
	var problems []error
	for _, child := range stale {
		if child.GetDeletionTimestamp() != nil {
			continue
		}
		uid := child.GetUID()
		if err := f.Delete(ctx, child, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			problems = append(problems, fmt.Errorf("delete %s: %w", child.GetName(), err))
		}
	}
	return errors.Join(append(problems, f.releaseDead(ctx, stale))...)
}

// releaseDead lets children go whose node is gone: its agent, which would, is gone, too.
func (f *fanOut) releaseDead(ctx context.Context, children []object) error {
	var problems []error
	for _, child := range children {
		if !controllerutil.ContainsFinalizer(child, f.agents) {
			continue
		}
		node := &metav1.PartialObjectMetadata{}
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		err := f.live.Get(ctx, client.ObjectKey{Name: f.node(child)}, node)
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			problems = append(problems, fmt.Errorf("read Node %s: %w", f.node(child), err))
			continue
		}
		before := child.DeepCopyObject().(object)
		controllerutil.RemoveFinalizer(child, f.agents)
		err = f.Patch(ctx, child, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if client.IgnoreNotFound(err) != nil {
			problems = append(problems, fmt.Errorf("release %s: %w", child.GetName(), err))
		}
	}
	return errors.Join(problems...)
}
