package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// lacksOne is a host for an address, of which there is one. The first conflicts writes of a status are refused.
func lacksOne(t *testing.T, conflicts int) (client.Client, *resourcev1.ManagedResource) {
	t.Helper()
	g, scheme := NewWithT(t), runtime.NewScheme()
	g.Expect(resourcev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(networkfabricv1.AddToScheme(scheme)).To(Succeed())
	host := &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Name: "host", Namespace: "blue", UID: "1"},
		Spec:       resourcev1.ManagedResourceSpec{HostIP: "10.10.10.2", HostAccess: resourcev1.PublicAccess},
	}
	ip := &networkfabricv1.PublicIP{
		ObjectMeta: metav1.ObjectMeta{Name: "ip", UID: "2", Finalizers: []string{networkfabricv1.PublicIPFinalizer}}, Spec: networkfabricv1.PublicIPSpec{IPAddress: "203.0.113.1"},
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(host, ip).WithStatusSubresource(ip)
	return testenv.Indexed(t, builder, Index).WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
	) error {
		if conflicts--; conflicts >= 0 {
			return apierrors.NewConflict(schema.GroupResource{Resource: "publicips"}, object.GetName(), errors.New("modified"))
		}
		return c.SubResource(subresource).Patch(ctx, object, patch, options...)
	}}).Build(), host
}

// A write by another client into a PublicIP, such as of its finalizer, doesn't make it another host's.
func TestPool_givesAnAddressThatIsBeingChanged(t *testing.T) {
	t.Parallel()
	for conflicts := range attempts {
		g := NewWithT(t)
		c, host := lacksOne(t, conflicts)
		p := &pool{Client: c, live: c, given: map[types.UID]*networkfabricv1.PublicIP{}}
		ip, err := p.allocate(t.Context(), host)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ip.Status.ManagedResource.UID).To(Equal(host.UID), "after %d conflicts", conflicts)
		g.Expect(condition(ip, resourcev1.ReadyCondition).Reason).To(Equal(reasonPending))
	}
	g := NewWithT(t)
	c, host := lacksOne(t, attempts)
	_, err := (&pool{Client: c, live: c}).allocate(t.Context(), host)
	g.Expect(err).To(HaveOccurred(), "it isn't that there is none")
}

// A host may be about to write that there is none: it is enqueued all the same.
func TestConcernedBy_whoeverLacksAnAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, host := lacksOne(t, 0)
	r := &resourceReconciler{Client: c}
	ip := &networkfabricv1.PublicIP{}
	g.Expect(r.concernedBy(t.Context(), ip)).To(HaveLen(1))
	host.Status.HostAccessIPs = &resourcev1.IPAssociation{PublicIP: "203.0.113.1"}
	g.Expect(c.Update(t.Context(), host)).To(Succeed())
	g.Expect(r.concernedBy(t.Context(), ip)).To(BeEmpty())
}

// A host that has lost its address before it was reconciled again doesn't have it any more.
func TestPool_forgetsWhatWasTakenBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, host := lacksOne(t, 0)
	p := &pool{Client: c, live: c, given: map[types.UID]*networkfabricv1.PublicIP{}}
	ip, err := p.allocate(t.Context(), host)
	g.Expect(err).NotTo(HaveOccurred())
	p.Client = behindCache{c}
	g.Expect(p.of(t.Context(), host)).To(Equal(ip), "the cache doesn't know yet")
	p.Client = c
	taken := ip.DeepCopy()
	taken.Status = networkfabricv1.PublicIPStatus{}
	g.Expect(c.Status().Update(t.Context(), taken)).To(Succeed())
	g.Expect(p.of(t.Context(), host)).To(BeNil())
	g.Expect(p.given).To(BeEmpty())
}

// behindCache is one that knows things as they were at first.
type behindCache struct{ client.Client }

func (b behindCache) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := b.Client.Get(ctx, key, into, options...)
	into.SetResourceVersion("1")
	return err
}

func (b behindCache) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// Until it has the manager's finalizer, a PublicIP may be gone at any moment, and nothing waits for its host's DPU.
func TestPool_givesNoAddressThatNobodyHolds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, host := lacksOne(t, 0)
	ip := &networkfabricv1.PublicIP{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: "ip"}, ip)).To(Succeed())
	ip.Finalizers = nil
	g.Expect(c.Update(t.Context(), ip)).To(Succeed())
	g.Expect((&pool{Client: c, live: c}).allocate(t.Context(), host)).To(BeNil())
}

// The host that another one conflicts with may be deleted before the conflict is recorded.
func TestReconcile_looksAgainAtWhoIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, host := lacksOne(t, 0)
	host.Spec.ResourceGroup = "none"
	r := &resourceReconciler{Client: c, poll: time.Minute, now: time.Now}
	g.Expect(r.reconcile(t.Context(), host)).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
	g.Expect(condition(host, resourcev1.AcceptedCondition).Reason).To(Equal("ResourceGroupNotFound"))
}
