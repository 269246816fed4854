package testenv_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// seen is what matters of an object after a step.
type seen struct {
	step, refusal           string
	generation              int64
	hasUID, newRevision     bool
	deleted                 bool
	finalizers              int
	spec, status, condition any
}

// TestMemory_doesAsTheAPIServer takes both through the same life of an object, and compares what each step says and leaves.
func TestMemory_doesAsTheAPIServer(t *testing.T) {
	t.Parallel()
	real := life(t, testenv.Client(t), testenv.Namespace(t))
	memory := life(t, testenv.Memory(t), "default")
	g := NewWithT(t)
	g.Expect(len(memory)).To(Equal(len(real)))
	for i := range real {
		g.Expect(memory[i]).To(Equal(real[i]), real[i].step)
	}
}

func life(t *testing.T, c client.Client, namespace string) (steps []seen) {
	ctx, before := t.Context(), ""
	object := &bmmv1.NvidiaBMMCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "life-", Finalizers: []string{"test/one"}},
		Spec: bmmv1.NvidiaBMMClusterSpec{
			SiteRef: bmmv1.SiteReference{Name: "any"}, TenantID: "05000000-0000-4000-8000-000000000001",
			Authentication: bmmv1.Authentication{SecretRef: bmmv1.SecretReference{Name: "any"}},
			Subnets:        []bmmv1.SubnetSpec{{Name: "any", PrefixLength: ptr.To[int32](24)}},
			VPC:            bmmv1.VPCSpec{NetworkSecurityGroup: &bmmv1.NetworkSecurityGroupSpec{Rules: []bmmv1.SecurityRule{{Name: "ssh", Direction: "ingress", Protocol: "tcp", PortRange: "22", Action: "allow"}}}},
		},
	}
	step := func(name string, err error) {
		now := object.DeepCopy()
		missing := c.Get(ctx, client.ObjectKeyFromObject(object), now)
		s := seen{step: name, refusal: string(apierrors.ReasonForError(err))}
		if missing == nil {
			s.generation, s.hasUID, s.deleted, s.finalizers = now.Generation, now.UID != "", now.DeletionTimestamp != nil, len(now.Finalizers)
			s.newRevision, s.spec, s.status = now.ResourceVersion != before, now.Spec, now.Status.VPCID
			before = now.ResourceVersion
		} else {
			s.status = string(apierrors.ReasonForError(missing))
		}
		steps = append(steps, s)
	}
	get := func() *bmmv1.NvidiaBMMCluster {
		now := &bmmv1.NvidiaBMMCluster{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), now); err != nil {
			t.Fatal(err)
		}
		return now
	}
	changed := func(change func(*bmmv1.NvidiaBMMCluster)) *bmmv1.NvidiaBMMCluster {
		now := get()
		change(now)
		return now
	}
	describe := func(text string) func(*bmmv1.NvidiaBMMCluster) {
		return func(o *bmmv1.NvidiaBMMCluster) { o.Spec.VPC.Description = text }
	}
	lock := func(base *bmmv1.NvidiaBMMCluster) client.Patch {
		return client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	}
	step("create", c.Create(ctx, object))
	again := object.DeepCopy()
	again.ResourceVersion = ""
	step("create it again", c.Create(ctx, again))
	stale := get()
	step("update", c.Update(ctx, changed(describe("one"))))
	describe("two")(stale)
	step("update a stale one", c.Update(ctx, stale))
	step("update metadata", c.Update(ctx, changed(func(o *bmmv1.NvidiaBMMCluster) { o.Labels = map[string]string{"a": "b"} })))
	step("update with a status", c.Update(ctx, changed(func(o *bmmv1.NvidiaBMMCluster) { o.Status.VPCID = "one" })))
	base := get()
	step("patch the status", c.Status().Patch(ctx, changed(func(o *bmmv1.NvidiaBMMCluster) { o.Status.VPCID, o.Spec.VPC.Description = "two", "three" }), lock(base)))
	step("patch the status of a stale one", c.Status().Patch(ctx, func() client.Object { o := base.DeepCopy(); o.Status.VPCID = "three"; return o }(), lock(base)))
	base = get()
	step("patch", c.Patch(ctx, changed(describe("four")), lock(base)))
	step("patch a stale one", c.Patch(ctx, func() client.Object { o := base.DeepCopy(); describe("five")(o); return o }(), lock(base)))
	base = get()
	step("patch finalizers", c.Patch(ctx, changed(func(o *bmmv1.NvidiaBMMCluster) { controllerutil.AddFinalizer(o, "test/two") }), lock(base)))
	step("delete another", c.Delete(ctx, get(), client.Preconditions{UID: ptr.To(types.UID("another"))}))
	step("delete", c.Delete(ctx, get()))
	step("delete it again", c.Delete(ctx, get()))
	step("patch what is deleted", c.Patch(ctx, changed(describe("six")), client.MergeFrom(get())))
	for range 2 {
		base = get()
		step("remove a finalizer", c.Patch(ctx, changed(func(o *bmmv1.NvidiaBMMCluster) { o.Finalizers = o.Finalizers[1:] }), lock(base)))
	}
	step("delete what is gone", c.Delete(ctx, object))
	return append(steps, others(ctx, c, namespace)...)
}

// others are kinds with their own rules: one with the status beside the spec, one of Kubernetes' own, and metadata only.
func others(ctx context.Context, c client.Client, namespace string) (steps []seen) {
	step := func(name string, o client.Object, err error) {
		err2 := c.Get(ctx, client.ObjectKeyFromObject(o), o)
		steps = append(steps, seen{
			step: name, refusal: string(apierrors.ReasonForError(err)), condition: string(apierrors.ReasonForError(err2)), generation: o.GetGeneration(),
			hasUID: o.GetUID() != "", finalizers: len(o.GetFinalizers()),
		})
	}
	ledger := &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nvidiabmmcluster-a", Finalizers: []string{ledgerv1.Finalizer}},
		Spec:       ledgerv1.LedgerSpec{Owner: ledgerv1.Owner{Kind: "NvidiaBMMCluster", Name: "a"}, OwnerID: "0123456789ab", Home: "home"},
	}
	step("create a ledger", ledger, c.Create(ctx, ledger))
	stale := ledger.DeepCopy()
	ledger.Spec.Entries = []ledgerv1.Entry{{Key: "vpc", Kind: "VPC", State: ledgerv1.Pending}}
	ledger.Status.Pending = 1
	step("update a ledger", ledger, c.Update(ctx, ledger))
	steps[len(steps)-1].status = ledger.Status.Pending
	step("update a stale ledger", ledger, c.Update(ctx, stale))
	metadata := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ledger.Name}}
	metadata.SetGroupVersionKind(schema.GroupVersionKind{Group: ledgerv1.GroupBMM, Version: "v1alpha1", Kind: "Ledger"})
	step("read its metadata", metadata, nil)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Data: map[string][]byte{"a": []byte("b")}}
	step("create a Secret", secret, c.Create(ctx, secret))
	secret.Data["a"] = []byte("c")
	step("update a Secret", secret, c.Update(ctx, secret))
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "a.b", Kind: "C", Name: "d"}},
	}
	step("create a Cluster", cluster, c.Create(ctx, cluster))
	cluster.Spec.Paused = ptr.To(true)
	step("pause a Cluster", cluster, c.Update(ctx, cluster))
	return steps
}
