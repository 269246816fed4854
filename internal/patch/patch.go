// Package patch writes what a reconcile has changed in an object, once, at its end.
package patch

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// timeout bounds both writes together.
const timeout = 30 * time.Second

// SpecAndStatus writes the differences between before and after in spec and status. Metadata is not its business: the
// engine writes the ledger and the finalizer itself, under a lock.
func SpecAndStatus(ctx context.Context, c client.Client, before, after client.Object) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout) // what a reconcile that ran out of time has seen counts too
	defer cancel()
	old, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		return fmt.Errorf("compare %s: %w", client.ObjectKeyFromObject(after), err)
	}
	now, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return fmt.Errorf("compare %s: %w", client.ObjectKeyFromObject(after), err)
	}
	base := before.DeepCopyObject().(client.Object)
	base.SetResourceVersion(after.GetResourceVersion())
	base.SetAnnotations(after.GetAnnotations())
	base.SetFinalizers(after.GetFinalizers())
	// Each patch goes through a copy, because the server's answer to the first would overwrite what the second is to say.
	var errs []error
	if !equality.Semantic.DeepEqual(old["spec"], now["spec"]) {
		errs = append(errs, c.Patch(ctx, after.DeepCopyObject().(client.Object), client.MergeFrom(base)))
	}
	if !equality.Semantic.DeepEqual(old["status"], now["status"]) {
		errs = append(errs, c.Status().Patch(ctx, after.DeepCopyObject().(client.Object), client.MergeFrom(base)))
	}
	if err := kerrors.FilterOut(kerrors.NewAggregate(errs), apierrors.IsNotFound); err != nil {
		return fmt.Errorf("patch %s: %w", client.ObjectKeyFromObject(after), err)
	}
	return nil
}
