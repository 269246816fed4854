package patch

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// AddFinalizer puts a finalizer on an object. Nothing may be created for the object before.
func AddFinalizer(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	before := object.DeepCopyObject().(client.Object)
	if !controllerutil.AddFinalizer(object, finalizer) {
		return nil
	}
	return Finalizers(ctx, c, before, object)
}

// RemoveFinalizer from an object of which nothing is left. One that doesn't exist any more has none.
func RemoveFinalizer(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	before := object.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(object, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(Finalizers(ctx, c, before, object))
}

// Finalizers writes the metadata in which before and object differ, under optimistic lock: a list is written as a whole, and must
// neither restore nor remove the finalizers of other clients. After a failure the object has those of before.
func Finalizers(ctx context.Context, c client.Client, before, object client.Object) error {
	answer := object.DeepCopyObject().(client.Object) // the server's answer would overwrite the status that is being built in memory
	if err := c.Patch(ctx, answer, locked(before)); err != nil {
		object.SetFinalizers(before.GetFinalizers())
		return fmt.Errorf("write the finalizers of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	object.SetResourceVersion(answer.GetResourceVersion())
	return nil
}
