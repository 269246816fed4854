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
	"github.com/bedplate/bedplate/internal/patch"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const id = "a0000000-0000-4000-8000-000000000001"

// create makes a machine without a status.
func create(t *testing.T, c client.Client, annotations map[string]string) *bmmv1.NvidiaBMMMachine {
	t.Helper()
	object := &bmmv1.NvidiaBMMMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t), Name: "machine", Annotations: annotations},
		Spec: bmmv1.NvidiaBMMMachineSpec{InstanceSpec: bmmv1.InstanceSpec{
			InstanceType:    bmmv1.InstanceTypeReference{ID: id},
			OperatingSystem: bmmv1.OperatingSystemReference{ID: id},
			Network:         bmmv1.NetworkSpec{NetworkInterface: bmmv1.NetworkInterface{SubnetName: "nodes"}},
		}},
	}
	NewWithT(t).Expect(c.Create(t.Context(), object)).To(Succeed())
	return object
}

func TestAll_writesOnceForSpecAndStatusAndNothingWhereNothingChanged(t *testing.T) {
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
	object := create(t, c, nil)
	before := object.DeepCopy()
	g.Expect(patch.StatusFirst(t.Context(), c, before, object)).To(Succeed())
	g.Expect(writes).To(BeZero())

	object.Spec.ProviderID = "nvidia-bmm://" + id + "/" + id
	object.Status.InstanceID = id
	g.Expect(patch.StatusFirst(t.Context(), c, before, object)).To(Succeed())
	g.Expect(writes).To(Equal(2))

	found := &bmmv1.NvidiaBMMMachine{}
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), found)).To(Succeed())
	g.Expect(found.Spec).To(Equal(object.Spec))
	g.Expect(found.Status).To(Equal(object.Status))

	g.Expect(c.Delete(t.Context(), object)).To(Succeed())
	object.Status.InstanceState = "Ready"
	g.Expect(patch.StatusFirst(t.Context(), c, found, object)).To(Succeed(), "an object that is gone needs no status")
}

// A process that was suspended continues with what it read before, and writes before it learns that another one leads. Machines
// read their cluster's status.
func TestAll_aFormerLeaderBlanksNoStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	object := create(t, c, nil)
	seen := object.DeepCopy()
	seen.Status.InstanceID = "old"

	object.Status.InstanceID = id
	g.Expect(patch.StatusFirst(t.Context(), c, seen, object)).To(Succeed())

	late := seen.DeepCopy()
	late.Status.InstanceID = ""
	g.Expect(patch.StatusFirst(t.Context(), c, seen, late)).To(MatchError(apierrors.IsConflict, "a conflict"))
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
	g.Expect(object.Status.InstanceID).To(Equal(id))
}

func TestAll_writesMetadataTooUnderALock(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	object := create(t, c, map[string]string{"old": ""})
	found := &bmmv1.NvidiaBMMMachine{}
	read := func() { g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), found)).To(Succeed()) }
	before := object.DeepCopy()
	g.Expect(patch.StatusFirst(t.Context(), c, before, object)).To(Succeed())
	read()
	g.Expect(found.ResourceVersion).To(Equal(before.ResourceVersion))

	object.Annotations = map[string]string{"new": ""}
	object.Labels = map[string]string{"zone": "a"}
	object.Finalizers = []string{"test/from-memory"}
	object.Spec.ProviderID = "nvidia-bmm://" + id + "/" + id
	object.Status.InstanceID = id
	g.Expect(patch.StatusFirst(t.Context(), c, before, object)).To(Succeed())
	read()
	g.Expect(found.Annotations).To(Equal(map[string]string{"new": ""}))
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
		g.Expect(patch.StatusFirst(t.Context(), c, before, stale)).To(MatchError(apierrors.IsConflict, "a conflict"), name)
	}

	g.Expect(c.Delete(t.Context(), found)).To(Succeed())
	object.Status.InstanceState = "Ready"
	g.Expect(patch.StatusFirst(t.Context(), c, found, object)).To(Succeed(), "an object that is gone needs no status")
}

// An object out of the cache says its kind. One that an earlier patch of the same reconcile has read its answer into doesn't.
func TestAll_removesNoKind(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	object := create(t, c, nil)
	object.TypeMeta = metav1.TypeMeta{}
	before := object.DeepCopy()
	before.SetGroupVersionKind(bmmv1.GroupVersion.WithKind("NvidiaBMMMachine"))
	object.Labels, object.Status.InstanceID = map[string]string{"new": ""}, id
	g.Expect(patch.StatusFirst(t.Context(), c, before, object)).To(Succeed())
}
