package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patchStatus writes the differences in the status, if the object is still the one that was read. Another one that has been made
// under the name since has another version, and so has one that a later leader has written: both answer with a conflict. The UID
// alone wouldn't do, since the API server overlooks it in patches of the status of what a CRD defines. After gets the new version.
func patchStatus(ctx context.Context, c client.Client, before, after client.Object) error {
	base, answer := before.DeepCopyObject().(client.Object), after.DeepCopyObject().(client.Object)
	base.SetResourceVersion(after.GetResourceVersion()) // finalizers may have been written since
	err := c.Status().Patch(ctx, answer, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err == nil {
		after.SetResourceVersion(answer.GetResourceVersion())
	}
	return err
}
