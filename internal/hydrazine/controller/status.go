package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patchStatus writes the differences in the status, if the object is still the one that was read. An object created since under
// that name has another version, and so has one that a later leader has written: both cause a conflict. The UID alone isn't
// enough, since the API server ignores it in status patches of custom resources. After gets the new version.
func patchStatus(ctx context.Context, c client.Client, before, after client.Object) error {
	base, answer := before.DeepCopyObject().(client.Object), after.DeepCopyObject().(client.Object)
	base.SetResourceVersion(after.GetResourceVersion()) // finalizers may have been written since
	err := c.Status().Patch(ctx, answer, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err == nil {
		after.SetResourceVersion(answer.GetResourceVersion())
	}
	return err
}
