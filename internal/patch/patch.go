// Package patch writes what a reconcile has changed in an object: finalizers at once, everything else at its end.
package patch

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// timeout bounds both writes together.
const timeout = 30 * time.Second

// All writes the differences between before and after in labels, annotations, spec and status, under a lock: where another
// client has changed the object since it was read, the error is a conflict. So it is for a former leader, which learns late that
// it is none any more. The status comes first: admission may compare the spec
// with it. Finalizers aren't its business: the engine writes them itself.
func All(ctx context.Context, c client.Client, before, after client.Object) error {
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
	answer := after.DeepCopyObject().(client.Object)
	if !equality.Semantic.DeepEqual(old["status"], now["status"]) {
		err = c.Status().Patch(ctx, answer, locked(base))
	}
	if err == nil && (!equality.Semantic.DeepEqual(old["metadata"], now["metadata"]) || !equality.Semantic.DeepEqual(old["spec"], now["spec"])) {
		base.SetResourceVersion(answer.GetResourceVersion())
		after.SetResourceVersion(answer.GetResourceVersion())
		err = c.Patch(ctx, after.DeepCopyObject().(client.Object), locked(base))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch %s: %w", client.ObjectKeyFromObject(after), err)
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
