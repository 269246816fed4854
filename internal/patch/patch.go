// Package patch writes what a reconcile has changed in an object: finalizers at once, everything else at its end.
package patch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// timeout bounds both writes together.
const timeout = 30 * time.Second

// All writes the differences between before and after in labels, annotations, spec and status, under a lock: where another
// client has changed the object since it was read, the error is a conflict. So it is for a former leader, which learns late that
// it is none any more. Finalizers aren't its business: the engine writes them itself.
func All(ctx context.Context, c client.Client, before, after client.Object) error {
	return write(ctx, c, before, after, false)
}

// StatusFirst is All for a kind of which admission compares the spec with the status.
func StatusFirst(ctx context.Context, c client.Client, before, after client.Object) error {
	return write(ctx, c, before, after, true)
}

func write(ctx context.Context, c client.Client, before, after client.Object, statusFirst bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	base := before.DeepCopyObject().(client.Object)
	base.GetObjectKind().SetGroupVersionKind(after.GetObjectKind().GroupVersionKind()) // the client takes it off, which is no change
	base.SetResourceVersion(after.GetResourceVersion())
	base.SetFinalizers(after.GetFinalizers())
	old, now, err := fields(base, after)
	if err != nil {
		return err
	}
	differ := func(field string) bool { return !equality.Semantic.DeepEqual(old[field], now[field]) }
	put := func(patch func(context.Context, client.Object, client.Patch) error) error {
		answer := after.DeepCopyObject().(client.Object)
		err := patch(ctx, answer, locked(base))
		base.SetResourceVersion(answer.GetResourceVersion())
		after.SetResourceVersion(answer.GetResourceVersion())
		return err
	}
	writes := []func() error{
		func() error {
			if !differ("metadata") && !differ("spec") {
				return nil
			}
			return put(func(ctx context.Context, o client.Object, p client.Patch) error { return c.Patch(ctx, o, p) })
		},
		func() error {
			if !differ("status") {
				return nil
			}
			return put(func(ctx context.Context, o client.Object, p client.Patch) error { return c.Status().Patch(ctx, o, p) })
		},
	}
	if statusFirst {
		slices.Reverse(writes)
	}
	for _, write := range writes {
		if err := write(); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("patch %s: %w", client.ObjectKeyFromObject(after), err)
		} else if err != nil {
			return nil // it is gone
		}
	}
	return nil
}

// fields of both objects, to be compared.
func fields(before, after client.Object) (old, now map[string]any, err error) {
	old, err = runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err == nil {
		now, err = runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("compare %s: %w", client.ObjectKeyFromObject(after), err)
	}
	return old, now, nil
}

func locked(base client.Object) client.Patch {
	return client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
}
