package ledgers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// Hold puts a finalizer on an object, before anything is created for it.
func Hold(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	before := object.DeepCopyObject().(client.Object)
	if !controllerutil.AddFinalizer(object, finalizer) {
		return nil
	}
	return patchFinalizers(ctx, c, before, object, "add the finalizer")
}

// Release removes a finalizer once all is gone. The optimistic lock makes sure that "all" was the newest ledger.
func Release(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	before := object.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(object, finalizer) {
		return nil
	}
	err := patchFinalizers(ctx, c, before, object, "remove the finalizer")
	if err == nil {
		gone(object)
	}
	return client.IgnoreNotFound(err)
}

func patchFinalizers(ctx context.Context, c client.Client, before, object client.Object, doing string) error {
	answer := object.DeepCopyObject().(client.Object) // the server's answer would overwrite the status that is being built in memory
	lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, answer, lock); err != nil {
		object.SetFinalizers(before.GetFinalizers())
		return fmt.Errorf("%s: %w", doing, err)
	}
	object.SetResourceVersion(answer.GetResourceVersion())
	return nil
}

// Release removes the finalizer of the owner once all is gone, then that of its ledger if it still exists.
func (s *Store) Release(ctx context.Context, owner Owner, finalizer string) error {
	if err := Release(ctx, s.Client, ObjectOf(owner), finalizer); err != nil {
		return err
	}
	l, err := Of(ctx, s.Client, s.Client.Scheme(), owner)
	if err != nil || l == nil || l.Owns() || !controllerutil.RemoveFinalizer(l, ledgerv1.Finalizer) {
		return err
	}
	err = s.Client.Update(ctx, l)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the cache is stale; the Keeper cleans up what is left
	}
	return err
}
