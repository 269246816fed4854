package controller

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
	"github.com/bedplate/bedplate/internal/testenv"
)

// site has these objects, found as in the controllers' cache.
func site(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(errors.Join(corev1.AddToScheme(scheme), discoveryv1.AddToScheme(scheme), networkfabricv1.AddToScheme(scheme), resourcev1.AddToScheme(scheme))).To(Succeed())
	return testenv.Indexed(t, fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...), Index).Build()
}

func parsed(texts ...string) (all []netip.Addr) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func softwareGroup(name string) *resourcev1.ResourceGroup {
	return &resourcev1.ResourceGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: name, UID: types.UID(name)},
		Spec:       resourcev1.ResourceGroupSpec{Network: &resourcev1.IPNet{IP: "10.10.10.0", PrefixLength: 24}},
	}
}

func neighbors(addresses ...resourcev1.IPAddress) *networkfabricv1.BGPConfiguration {
	c := &networkfabricv1.BGPConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for _, a := range addresses {
		c.Spec.Neighbors = append(c.Spec.Neighbors, networkfabricv1.BGPNeighbor{Address: a})
	}
	return c
}

// No policy has to be written for what follows from the manager itself, the groups and the speakers.
func TestControlPlane_isKnownWithoutAPolicy(t *testing.T) {
	t.Parallel()
	g, now := NewWithT(t), time.Now()
	blue, red, late := softwareGroup("blue"), softwareGroup("red"), softwareGroup("late")
	blue.Status.SoftwareNetworkConfiguration = &resourcev1.SoftwareNetworkConfiguration{Southbound: "ssl:172.18.0.2:16640"}
	red.Status.SoftwareNetworkConfiguration = &resourcev1.SoftwareNetworkConfiguration{Southbound: "ssl:[fd18::40]:6642"}
	speaking := neighbors("172.18.0.1", "fd18::1")
	speaking.Status.Speakers = []networkfabricv1.BGPSpeaker{
		{Name: "one", RouterID: "1.2.3.4", Addresses: []resourcev1.IPAddress{"172.18.0.11", "127.0.0.1"}}, {Name: "older", RouterID: "172.18.0.12"},
	}
	proxy := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: proxyService},
		Spec:       corev1.ServiceSpec{ClusterIPs: []string{"10.96.0.9"}, ExternalIPs: []string{"172.18.0.60"}},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{
			{IP: "172.18.0.61"}, {Hostname: "proxy.example.com"},
		}}},
	}
	managers := &discoveryv1.EndpointSlice{ // that leads, and that waits
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "x", Labels: map[string]string{discoveryv1.LabelServiceName: webhooksService}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.7"}}, {Addresses: []string{"10.244.0.8"}}},
	}
	another := managers.DeepCopy()
	another.Name, another.Labels[discoveryv1.LabelServiceName] = "y", "another"
	another.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.9"}}}
	c := site(t, blue, red, late, speaking, proxy, managers, another)
	p := &controlPlane{
		Reader: c, live: c, namespace: "system", now: func() time.Time { return now },
		own: func() ([]netip.Addr, error) { return parsed("172.18.0.2", "10.244.0.7"), nil },
	}
	known := func() controlPlaneAddresses {
		all, err := p.addresses(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return all
	}
	g.Expect(known().all).To(Equal(
		parsed("10.96.0.9", "10.244.0.7", "10.244.0.8", "172.18.0.2", "172.18.0.11", "172.18.0.60", "172.18.0.61", "fd18::40")))
	g.Expect(known().routers).To(Equal(parsed("172.18.0.1", "fd18::1")))

	late.Status.SoftwareNetworkConfiguration = &resourcev1.SoftwareNetworkConfiguration{Southbound: "ssl:172.18.0.41:6642"}
	g.Expect(c.Update(t.Context(), late)).To(Succeed())
	g.Expect(known().all).NotTo(ContainElement(netip.MustParseAddr("172.18.0.41")), "it doesn't look each time")
	now = now.Add(underlayAge)
	g.Expect(known().all).To(ContainElement(netip.MustParseAddr("172.18.0.41")))
}

// A DHCP server on the manager's machine keeps serving: the DPUs' relays speak to it, past what hosts may reach.
func TestControlPlane_keepsNoRelayFromItsServer(t *testing.T) {
	t.Parallel()
	g, group := NewWithT(t), softwareGroup("blue")
	group.Spec.DHCPServer = "172.18.0.2"
	network, err := overlay.Topology(group, nil, overlay.Outside{Site: topology.Site{ControlPlane: parsed("172.18.0.2")}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(network.Group.Relayed).To(Equal(netip.MustParseAddr("172.18.0.2")))
}

// A manager that was installed with fewer rights makes networks all the same.
func TestControlPlane_withoutARightToItsServices(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), site(t, neighbors("172.18.0.1"))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, proxyService, errors.New("no right"))
	denied := interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return forbidden
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*discoveryv1.EndpointSliceList); is {
				return forbidden
			}
			return c.List(ctx, list, options...)
		},
	})
	p := &controlPlane{Reader: c, live: denied, namespace: "system", now: time.Now}
	known, err := p.addresses(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(known.routers).To(Equal(parsed("172.18.0.1")))
}

// Where the BGPConfigurations can't be read, hosts stay whose networks have nothing to do with them.
func TestControlPlane_thatCantBeReadEndsNoLease(t *testing.T) {
	t.Parallel()
	g, c, now, failing := NewWithT(t), site(t, neighbors("172.18.0.1")), time.Now(), false
	broken := interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if failing {
				return errors.New("broken")
			}
			return c.List(ctx, list, options...)
		},
	})
	begin := func() *controlPlane {
		return &controlPlane{Reader: c, live: broken, now: func() time.Time { return now }}
	}
	p := begin()
	known, err := p.addresses(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	failing = true
	for range 3 {
		now = now.Add(underlayAge)
		still, err := p.addresses(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(still).To(Equal(known))
	}

	host := behindDPU("host", "172.18.0.5", "172.18.0.105")
	r := &resourceReconciler{Client: c, agents: agents.NewPool(t.Context(), agents.Config{}), control: begin()}
	_, _, err = r.reserved(t.Context(), host, agents.Report{})
	g.Expect(err).To(MatchError(ContainSubstring("broken")), "it would be given its address without a check")
	host.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: "172.18.0.5", FabricIP: "172.18.0.105"}
	_, _, err = r.reserved(t.Context(), host, agents.Report{})
	g.Expect(err).NotTo(HaveOccurred(), "it has it")
}
