package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// hold keeps an object until release. Nothing may be done for it before.
func hold(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	base := object.DeepCopyObject().(client.Object)
	if !controllerutil.AddFinalizer(object, finalizer) {
		return nil
	}
	return patchFinalizers(ctx, c, base, object)
}

func release(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	base := object.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(object, finalizer) {
		return nil
	}
	return patchFinalizers(ctx, c, base, object)
}

// patchFinalizers under optimistic lock: a list is written as a whole, and must not restore or remove those of other
// clients.
func patchFinalizers(ctx context.Context, c client.Client, base, object client.Object) error {
	written := object.DeepCopyObject().(client.Object) // the answer has no status of ours yet
	err := c.Patch(ctx, written, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch the finalizers of %s: %w", object.GetName(), err)
	}
	object.SetResourceVersion(written.GetResourceVersion())
	return nil
}
