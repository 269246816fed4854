package controller_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// deletedBehind deletes a group with a central, whose answer to the patch that leaves it with so many finalizers is lost: so it is reconciled
// again, and the cache has it once more as it was before. It returns when that has been read.
func (f *fixture) deletedBehind(finalizers int, change ...func(*resourcev1.ResourceGroup)) *resourcev1.ResourceGroup {
	f.t.Helper()
	var last atomic.Pointer[resourcev1.ResourceGroup]
	var behind atomic.Int32
	f.faults.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		group, is := object.(*resourcev1.ResourceGroup)
		if is && behind.CompareAndSwap(1, 2) {
			last.Load().DeepCopyInto(group)
			return nil
		}
		err := c.Get(ctx, key, object, options...)
		if is && err == nil && !group.DeletionTimestamp.IsZero() && len(group.Finalizers) > finalizers {
			last.Store(group.DeepCopy())
		}
		return err
	}
	f.faults.Patch = func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
		err := c.Patch(ctx, object, patch, options...)
		group, is := object.(*resourcev1.ResourceGroup)
		if is && err == nil && !group.DeletionTimestamp.IsZero() && len(group.Finalizers) == finalizers && behind.CompareAndSwap(0, 1) {
			return errors.New("the answer is lost")
		}
		return err
	}
	f.run()
	group := f.group("blue", change...)
	f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.State = resourcev1.Isolated }) // it counts, and has no rows
	f.becomes(group, resourcev1.CentralReadyCondition, metav1.ConditionTrue, "")
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(group), group)).To(Succeed())
		g.Expect(group.Status.ManagedResourceCount).To(BeEquivalentTo(1))
	}).Should(Succeed())
	f.Expect(f.client.Delete(f.t.Context(), group)).To(Succeed())
	f.Eventually(behind.Load).Should(BeEquivalentTo(2))
	return group
}

// A central that is made for a group which is gone would be left for ever.
func TestGroup_thatIsGoneGetsNoCentralAgain(t *testing.T) {
	t.Parallel()
	f := start(t)
	group := f.deletedBehind(0)
	f.Expect(apierrors.IsNotFound(f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group))).To(BeTrue())
	f.Consistently(func() string { return fmt.Sprintf("%s/ovn-%s", f.dir, group.UID) }, "2s").ShouldNot(BeADirectory())
}
