package patch_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/patch"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	ours   = "bedplate.dev/ours"
	others = "example.com/others"
)

func TestFinalizer_leavesThoseOfOtherClientsAndTheStatusInMemory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	object := create(t, c, nil)
	stale := object.DeepCopy()
	object.Status.InstanceID = id // not written yet
	g.Expect(patch.AddFinalizer(t.Context(), c, object, ours)).To(Succeed())
	g.Expect(object.Status.InstanceID).To(Equal(id))
	g.Expect(patch.AddFinalizer(t.Context(), c, object, ours)).To(Succeed(), "it is there")
	g.Expect(patch.AddFinalizer(t.Context(), c, object, others)).To(Succeed())

	err := patch.AddFinalizer(t.Context(), c, stale, ours)
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	g.Expect(stale.Finalizers).To(BeEmpty(), "what wasn't written isn't there")

	g.Expect(patch.RemoveFinalizer(t.Context(), c, object, ours)).To(Succeed())
	found := &bmmv1.NvidiaBMMMachine{}
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), found)).To(Succeed())
	g.Expect(found.Finalizers).To(ConsistOf(others))

	g.Expect(c.Delete(t.Context(), found)).To(Succeed())
	last := found.DeepCopy()
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(found), found)).To(Succeed())
	g.Expect(patch.RemoveFinalizer(t.Context(), c, found, others)).To(Succeed())
	g.Expect(patch.RemoveFinalizer(t.Context(), c, last, others)).To(Succeed(), "an object that is gone has none")
	g.Expect(apierrors.IsNotFound(patch.AddFinalizer(t.Context(), c, last, ours))).To(BeTrue(), "and gets none")
}
