package patch_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/patch"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const id = "a0000000-0000-4000-8000-000000000001"

func TestSpecAndStatus_writesBothAndNothingWhereNothingChanged(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	writes := 0
	c := interceptor.NewClient(testenv.Client(t), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			writes++
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	object := &bmmv1.NvidiaBMMMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t), Name: "machine"},
		Spec: bmmv1.NvidiaBMMMachineSpec{InstanceSpec: bmmv1.InstanceSpec{
			InstanceType:    bmmv1.InstanceTypeReference{ID: id},
			OperatingSystem: bmmv1.OperatingSystemReference{ID: id},
			Network:         bmmv1.NetworkSpec{NetworkInterface: bmmv1.NetworkInterface{SubnetName: "nodes"}},
		}},
	}
	g.Expect(c.Create(t.Context(), object)).To(Succeed())
	before := object.DeepCopy()
	g.Expect(patch.SpecAndStatus(t.Context(), c, before, object)).To(Succeed())
	g.Expect(writes).To(BeZero())

	object.Spec.ProviderID = "nvidia-bmm://" + id + "/" + id
	object.Status.InstanceID = id
	g.Expect(patch.SpecAndStatus(t.Context(), c, before, object)).To(Succeed())
	g.Expect(writes).To(Equal(2))

	found := &bmmv1.NvidiaBMMMachine{}
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), found)).To(Succeed())
	g.Expect(found.Spec).To(Equal(object.Spec))
	g.Expect(found.Status).To(Equal(object.Status))

	g.Expect(c.Delete(t.Context(), object)).To(Succeed())
	object.Status.InstanceState = "Ready"
	g.Expect(patch.SpecAndStatus(t.Context(), c, before, object)).To(Succeed(), "an object that is gone needs no status")
}

func TestAll_writesMetadataTooUnderALockAndNeverTheLedger(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	object := &bmmv1.NvidiaBMMMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testenv.Namespace(t), Name: "machine", Annotations: map[string]string{"old": "", graph.LedgerAnnotation: "1"},
		},
		Spec: bmmv1.NvidiaBMMMachineSpec{InstanceSpec: bmmv1.InstanceSpec{
			InstanceType:    bmmv1.InstanceTypeReference{ID: id},
			OperatingSystem: bmmv1.OperatingSystemReference{ID: id},
			Network:         bmmv1.NetworkSpec{NetworkInterface: bmmv1.NetworkInterface{SubnetName: "nodes"}},
		}},
	}
	found := &bmmv1.NvidiaBMMMachine{}
	read := func() { g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), found)).To(Succeed()) }
	g.Expect(c.Create(t.Context(), object)).To(Succeed())
	before := object.DeepCopy()
	g.Expect(patch.All(t.Context(), c, before, object)).To(Succeed())
	read()
	g.Expect(found.ResourceVersion).To(Equal(before.ResourceVersion))

	object.Annotations = map[string]string{"new": "", graph.LedgerAnnotation: "from memory"}
	object.Labels = map[string]string{"zone": "a"}
	object.Finalizers = []string{"test/from-memory"}
	object.Spec.ProviderID = "nvidia-bmm://" + id + "/" + id
	object.Status.InstanceID = id
	g.Expect(patch.All(t.Context(), c, before, object)).To(Succeed())
	read()
	g.Expect(found.Annotations).To(Equal(map[string]string{"new": "", graph.LedgerAnnotation: "1"}))
	g.Expect(found.Labels).To(Equal(map[string]string{"zone": "a"}))
	g.Expect(found.Finalizers).To(BeEmpty())
	g.Expect(found.Spec).To(Equal(object.Spec))
	g.Expect(found.Status).To(Equal(object.Status))

	for name, change := range map[string]func(*bmmv1.NvidiaBMMMachine){
		"metadata": func(o *bmmv1.NvidiaBMMMachine) { o.Labels = map[string]string{"zone": "b"} },
		"status":   func(o *bmmv1.NvidiaBMMMachine) { o.Status.InstanceState = "Ready" },
	} {
		stale := before.DeepCopy()
		change(stale)
		g.Expect(patch.All(t.Context(), c, before, stale)).To(MatchError(apierrors.IsConflict, "a conflict"), name)
	}

	g.Expect(c.Delete(t.Context(), found)).To(Succeed())
	object.Status.InstanceState = "Ready"
	g.Expect(patch.All(t.Context(), c, found, object)).To(Succeed(), "an object that is gone needs no status")
}
