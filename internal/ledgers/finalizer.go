package ledgers

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/patch"
)

// Release removes a finalizer once all is gone. The optimistic lock makes sure that "all" was the newest ledger.
func Release(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	held := controllerutil.ContainsFinalizer(object, finalizer)
	err := patch.RemoveFinalizer(ctx, c, object, finalizer)
	if held && err == nil {
		gone(object)
	}
	return err
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
