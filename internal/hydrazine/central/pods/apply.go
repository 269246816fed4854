package pods

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/patch"
)

// appliedAnnotation has a digest of all that was applied: a field that isn't wanted any more is seen by nothing else.
const appliedAnnotation = "resource.bedplate.dev/applied"

// find reads an object of a group, and reports whether it is there. One that isn't in the cache is read from the
// API server.
func (r *Runtime) find(ctx context.Context, group string, into client.Object) (bool, error) {
	key := client.ObjectKey{Namespace: r.config.Namespace, Name: group}
	err := r.client.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		err = r.live.Get(ctx, key, into)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the central's %s: %w", r.kind(into), err)
	}
	if labels := into.GetLabels(); labels[groupLabel] != group || labels[managedByLabel] != managerName {
		return false, fmt.Errorf("the %s %s in namespace %s isn't this manager's: it hasn't the labels %s and %s",
			r.kind(into), group, r.config.Namespace, groupLabel, managedByLabel)
	}
	return true, nil
}

func (r *Runtime) gvk(of client.Object) schema.GroupVersionKind {
	gvk, err := apiutil.GVKForObject(of, r.client.Scheme())
	utilruntime.Must(err) // the scheme has all kinds of this package
	return gvk
}

func (r *Runtime) kind(of client.Object) string { return r.gvk(of).Kind }

// apply makes an object as wanted, and returns it in found. Nothing is written if it is so already. What others have added
// stays.
func (r *Runtime) apply(ctx context.Context, group string, wanted, found client.Object) error {
	there, err := r.find(ctx, group, found)
	if err != nil {
		return err
	}
	fields, err := r.fields(wanted)
	if err != nil {
		return err
	}
	options := []client.ApplyOption{client.FieldOwner(managerName)}
	if there {
		has, err := runtime.DefaultUnstructuredConverter.ToUnstructured(found)
		if err != nil {
			return fmt.Errorf("encode the central's %s: %w", r.kind(wanted), err)
		}
		if patch.Holds(has, fields.Object) {
			return nil
		}
		fields.SetUID(found.GetUID()) // not another one that has replaced it
		options = append(options, client.ForceOwnership)
	}
	fields.SetGroupVersionKind(r.gvk(wanted))
	if err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(fields), options...); err != nil {
		return fmt.Errorf("apply the central's %s: %w", r.kind(wanted), err)
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields.Object, found)
}

// fields that are wanted, and no others.
func (r *Runtime) fields(wanted client.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil, fmt.Errorf("encode the central's %s: %w", r.kind(wanted), err)
	}
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the central's %s: %w", r.kind(wanted), err)
	}
	sum := sha256.Sum256(text)
	u.SetAnnotations(map[string]string{appliedAnnotation: hex.EncodeToString(sum[:])})
	return u, nil
}

// remove an object of a group. As long as it exists that is central.ErrOnItsWay; with foreground deletion it exists as long as
// its dependents do.
func (r *Runtime) remove(ctx context.Context, group string, object client.Object, how metav1.DeletionPropagation) error {
	there, err := r.find(ctx, group, object)
	if err != nil || !there {
		return err
	}
	if object.GetDeletionTimestamp().IsZero() {
		uid := object.GetUID()
		err := r.client.Delete(ctx, object, client.PropagationPolicy(how),
			client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the central's %s: %w", r.kind(object), err)
		}
	}
	if there, err = r.isThere(ctx, object); err != nil || !there {
		return err
	}
	return fmt.Errorf("delete the central's %s: %w", r.kind(object), central.ErrOnItsWay)
}

// isThere asks the API server itself.
func (r *Runtime) isThere(ctx context.Context, object client.Object) (bool, error) {
	uid := object.GetUID()
	err := r.live.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether the central's %s is gone: %w", r.kind(object), err)
	}
	return object.GetUID() == uid, nil
}
