// Package patch writes what a reconcile has changed in an object, once, at its end.
package patch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SpecAndStatus writes the differences between before and after in spec and status. Metadata is not its business: the
// engine writes the ledger and the finalizer itself, under a lock.
func SpecAndStatus(ctx context.Context, c client.Client, before, after client.Object) error {
	base := before.DeepCopyObject().(client.Object)
	base.SetResourceVersion(after.GetResourceVersion())
	base.SetAnnotations(after.GetAnnotations())
	base.SetFinalizers(after.GetFinalizers())
	if equality.Semantic.DeepEqual(base, after) {
		return nil
	}
	// Each patch goes through a copy, because the server's answer to the first would overwrite what the second is to say.
	var errs []error
	if specDiffers(base, after) {
		errs = append(errs, c.Patch(ctx, after.DeepCopyObject().(client.Object), client.MergeFrom(base)))
	}
	errs = append(errs, c.Status().Patch(ctx, after.DeepCopyObject().(client.Object), client.MergeFrom(base)))
	err := kerrors.FilterOut(kerrors.NewAggregate(errs), apierrors.IsNotFound)
	if err != nil {
		return fmt.Errorf("patch %s: %w", client.ObjectKeyFromObject(after), err)
	}
	return nil
}

func specDiffers(a, b client.Object) bool {
	converter := runtime.DefaultUnstructuredConverter
	left, err := converter.ToUnstructured(a)
	if err != nil {
		return true
	}
	right, err := converter.ToUnstructured(b)
	return err != nil || !equality.Semantic.DeepEqual(left["spec"], right["spec"])
}
