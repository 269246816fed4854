package describe_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/describe"
	hydrazine "github.com/bedplate/bedplate/internal/hydrazine/describe"
)

const tenant = "tenant"

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-90 * time.Second))}
}

var ready = condition("Ready", metav1.ConditionTrue, "AsWanted", "")

func in(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }

func group(change ...func(*resourcev1.ResourceGroup)) *resourcev1.ResourceGroup {
	g := &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "blue"},
		Spec: resourcev1.ResourceGroupSpec{
			Network:                   &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24},
			NetworkImplementationType: resourcev1.SoftwareNetwork,
		},
		Status: resourcev1.ResourceGroupStatus{
			Conditions: []metav1.Condition{ready},
			SoftwareNetworkConfiguration: &resourcev1.SoftwareNetworkConfiguration{
				OvnService: "ovn-1", LogicalNetwork: "ls-blue", Southbound: "ssl:172.18.0.2:16642", DHCPCircuitID: "hz-0123456789ab",
			},
		},
	}
	for _, c := range change {
		c(g)
	}
	return g
}

func host(name, ip string, change ...func(*resourcev1.ManagedResource)) *resourcev1.ManagedResource {
	r := &resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name, UID: types.UID("uid-" + name)},
		Spec: resourcev1.ManagedResourceSpec{
			ResourceGroup: "blue", HostIP: resourcev1.IPAddress(ip), DPUIPs: []resourcev1.IPAddress{"172.18.0.5", "172.18.0.105"},
		},
		Status: resourcev1.ManagedResourceStatus{
			Conditions:           []metav1.Condition{ready},
			HostAccessIPs:        &resourcev1.IPAssociation{HostIP: resourcev1.IPAddress(ip), FabricIP: "172.18.0.105"},
			LogicalPortReference: &resourcev1.LogicalPortReference{LogicalPort: "lsp-" + name, DPU: "dpu1", Agent: "172.18.0.5"},
			LeaseExpires:         in(48 * time.Minute),
			LastReport:           in(-12 * time.Minute),
		},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func lost(r *resourcev1.ManagedResource) {
	const why = "DPU 172.18.0.6: the agent is unreachable: check that the agent runs, and the network between this manager and the DPU"
	r.Status.LeaseExpires, r.Status.LastReport = in(10*time.Minute), in(-50*time.Minute)
	r.Status.Conditions = []metav1.Condition{
		condition("Ready", metav1.ConditionFalse, "AgentUnreachable", why),
		condition("AgentReady", metav1.ConditionFalse, "AgentUnreachable", why),
		condition("Accepted", metav1.ConditionTrue, "AsWanted", ""),
		condition("Attached", metav1.ConditionUnknown, "AgentUnreachable", "the DPU keeps the host attached until 12:10"),
	}
}

func public(name, ip, holder string, change ...func(*networkfabricv1.PublicIP)) *networkfabricv1.PublicIP {
	p := &networkfabricv1.PublicIP{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkfabricv1.PublicIPSpec{IPAddress: resourcev1.IPAddress(ip)},
		Status: networkfabricv1.PublicIPStatus{
			Allocated: true, NextHop: "172.18.0.105", AnnouncedBy: []string{"speaker-a", "speaker-b"},
			ManagedResource: &networkfabricv1.ManagedResourceReference{Namespace: tenant, Name: holder, UID: types.UID("uid-" + holder)},
			Conditions:      []metav1.Condition{condition("Ready", metav1.ConditionTrue, "Announced", "")},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func silent(p *networkfabricv1.PublicIP) {
	p.Status.AnnouncedBy = nil
	p.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionFalse, "NotAnnounced", "no BGP speaker announces the address")}
}

func sessions() *networkfabricv1.BGPConfiguration {
	return &networkfabricv1.BGPConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "site"},
		Status: networkfabricv1.BGPConfigurationStatus{Speakers: []networkfabricv1.BGPSpeaker{{
			Name: "speaker-a", Sessions: []networkfabricv1.BGPSession{
				{Neighbor: "172.18.0.1", State: "Established", Since: in(-time.Hour)},
				{Neighbor: "172.18.0.254", State: "Active", Message: "no answer: see that it listens at port 179"},
			},
		}}},
	}
}

// large is a network with everything.
func large() []client.Object {
	return []client.Object{
		group(func(g *resourcev1.ResourceGroup) {
			g.Spec.SecondNetwork = &resourcev1.IPNet{IP: "fd00::", PrefixLength: 64, Gateway: "fd00::ff"}
			g.Spec.DHCPServer = "172.19.0.67"
			g.Spec.SecurityGroups = []resourcev1.SecurityGroup{
				{Name: "default"}, {Name: "web", Rules: make([]resourcev1.SecurityRule, 2)}, {Name: "unused"},
			}
			g.Status.Propagation = &resourcev1.Propagation{Change: 17, DPUs: 4, Current: 3}
			g.Status.Conditions = append(g.Status.Conditions,
				condition("Propagated", metav1.ConditionFalse, "Propagating", "DPU dpu2 hasn't the flows of change 17 yet"))
		}),
		host("host1", "10.10.10.2", func(r *resourcev1.ManagedResource) {
			r.Spec.SecondHostIP, r.Spec.SecurityGroups = "fd00::2", []string{"web"}
			r.Status.HostAccessIPs.PublicIP = "203.0.113.1"
			r.Status.SecondHostAccessIPs = &resourcev1.IPAssociation{HostIP: "fd00::2", FabricIP: "fd01::2"}
		}),
		host("host2", "10.10.10.3", lost),
		host("host3", "10.10.10.4", func(r *resourcev1.ManagedResource) {
			r.Spec.State, r.Status.LeaseExpires, r.Status.LogicalPortReference, r.Status.HostAccessIPs = resourcev1.Isolated, nil, nil, nil
			r.Status.LastReport = nil
			r.Status.Conditions = []metav1.Condition{ready, condition("Attached", metav1.ConditionFalse, "Isolated", "the host isn't attached")}
		}),
		host("host4", "10.10.10.5", func(r *resourcev1.ManagedResource) { r.Status.HostAccessIPs.PublicIP = "203.0.113.2" }),
		host("elsewhere", "10.10.10.2", func(r *resourcev1.ManagedResource) { r.Spec.ResourceGroup = "red" }),
		public("free", "203.0.113.3", "nobody"), public("one", "203.0.113.1", "host1"), public("two", "203.0.113.2", "host4", silent),
		sessions(),
	}
}

func builder(objects ...client.Object) *fake.ClientBuilder {
	scheme := runtime.NewScheme()
	if err := errors.Join(resourcev1.AddToScheme(scheme), networkfabricv1.AddToScheme(scheme)); err != nil {
		panic(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
}

func TestNetwork_isShownWithWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		describe func(context.Context, client.Client, string, string) (*describe.Object, error)
		of       string
		objects  []client.Object
	}{
		"resourcegroup":        {hydrazine.ResourceGroup, "blue", large()},
		"resourcegroup-small":  {hydrazine.ResourceGroup, "blue", []client.Object{group(), host("host1", "10.10.10.2")}},
		"resourcegroup-fabric": {hydrazine.ResourceGroup, "blue", []client.Object{group(byFabric), host("host1", "10.10.10.2", unseen)}},
		"managedresource":      {hydrazine.ManagedResource, "host1", large()},
		"publicip":             {hydrazine.PublicIP, "two", large()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			root, err := row.describe(t.Context(), builder(row.objects...).Build(), tenant, row.of)
			g.Expect(err).NotTo(HaveOccurred())
			var out strings.Builder
			g.Expect(describe.Print(&out, root, now)).To(Succeed())
			golden, err := os.ReadFile("testdata/" + name + ".txt")
			g.Expect(err).NotTo(HaveOccurred(), "\n%s", out.String())
			g.Expect(out.String()).To(Equal(string(golden)), "\n%s", out.String())
		})
	}
}

func byFabric(g *resourcev1.ResourceGroup) {
	g.Spec.NetworkImplementationType, g.Status.SoftwareNetworkConfiguration = resourcev1.FabricNetwork, nil
}

// unseen is a host that no controller has reconciled yet.
func unseen(r *resourcev1.ManagedResource) {
	r.Status = resourcev1.ManagedResourceStatus{}
	r.Finalizers, r.DeletionTimestamp = []string{resourcev1.ManagedResourceFinalizer}, in(-3*time.Minute)
}

// A tenant may read its own network, and no public addresses.
func TestNetwork_isShownToWhoMayNotReadPublicIPs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := builder(large()...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, ok := list.(*networkfabricv1.PublicIPList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "publicips"}, "", errors.New("ask your operator"))
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
	root, err := hydrazine.ResourceGroup(t.Context(), c, tenant, "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(root.Children).To(HaveLen(4))
	g.Expect(root.Details).To(ContainElement(And(HaveField("Name", "PublicIPs not shown:"), HaveField("Text", ContainSubstring("ask your operator")))))
	_, err = hydrazine.ResourceGroup(t.Context(), c, tenant, "green")
	g.Expect(err).To(MatchError(ContainSubstring(`read ResourceGroup tenant/green: resourcegroups.resource.bedplate.dev "green" not found`)))
}
