package overlay_test

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

const public1, public2 = "203.0.113.10", "203.0.113.11"

// abroad is a service with two hosts of a group in two racks, which are reached from the internet.
type abroad struct {
	*stack
	group    *resourcev1.ResourceGroup
	one, two *resourcev1.ManagedResource
}

func upAbroad(t testing.TB, addresses ...string) *abroad {
	t.Helper()
	a := &abroad{stack: upService(t, fabric.Routed(2))}
	a.peers()
	a.policy()
	for _, address := range addresses {
		a.publicIP(address)
	}
	a.group = a.stack.group("blue")
	a.one, a.two = a.join("blue", "host1", "10.10.10.2", publicly), a.join("blue", "host2", "10.10.10.3", publicly)
	a.serve("host1", "host2", fabric.Internet, fabric.DC)
	return a
}

// publicOf waits until a host has a public address that is announced, and returns it.
func (s *stack) publicOf(r *resourcev1.ManagedResource) string {
	s.t.Helper()
	s.becomes(r, resourcev1.PublicIPReadyCondition, metav1.ConditionTrue, "")
	return string(r.Status.HostAccessIPs.PublicIP)
}

// From the internet to hosts and back, by public addresses that FRR has learned from both speakers, and from host to host.
func TestPublicIP_isAnnouncedAndLeadsBothWays(t *testing.T) {
	t.Parallel()
	a := upAbroad(t, public1, public2)
	a.ready(a.one, a.two)
	internet, dc := a.server(fabric.Internet), a.server(fabric.DC)
	all := map[string]string{"host1": a.publicOf(a.one), "host2": a.publicOf(a.two)}
	for host, address := range all {
		a.Eventually(a.paths).WithArguments(address).Should(ConsistOf(a.server(fabric.Speaker1), a.server(fabric.Speaker2)))
		a.reached(internet, func() (netip.Addr, error) { return a.connects(fabric.Internet, address) })
		a.reached(address, func() (netip.Addr, error) { return a.connects(host, internet) })
	}
	a.reached(string(a.one.Spec.DPUIPs[1]), func() (netip.Addr, error) { return a.connects("host1", dc) })
	a.reached(all["host1"], func() (netip.Addr, error) { return a.connects("host1", all["host2"]) })
	a.reached(all["host1"], func() (netip.Addr, error) { return a.connects("host1", all["host1"]) })
}

// One of two speakers dies while packets come from the internet: the other one's announcement is enough, and so is the router's
// memory of the one that died. It comes back and announces again.
func TestSpeaker_killedLosesNoPacket(t *testing.T) {
	t.Parallel()
	a := upAbroad(t, public1, public2)
	address := a.publicOf(a.one)
	a.reached("", func() (netip.Addr, error) { return a.connects(fabric.Internet, address) })
	a.Eventually(a.paths).WithArguments(address).Should(HaveLen(2))
	report := a.lostBetween(fabric.Internet, address, func() {
		a.Kill(fabric.Speaker1)
		a.Eventually(a.paths).WithArguments(address).Should(ConsistOf(a.server(fabric.Speaker2)))
		a.Expect(a.StartSpeaker(t.Context(), fabric.Speaker1)).To(Succeed())
		a.Eventually(a.paths).WithArguments(address).Should(HaveLen(2))
	})
	a.Expect(report.Lost).To(BeZero())
}

// The only address moves from one host to another. Each step is seen in order: no next hop any more, no speaker that
// announces it, no route in the router, and only then it is another host's.
func TestPublicIP_isWithdrawnBeforeAnotherHostGetsIt(t *testing.T) {
	t.Parallel()
	a := upAbroad(t)
	owners := a.watchOwners()
	a.publicIP(public1)
	first, second := a.one, a.two
	a.Eventually(func(g Gomega) {
		ip := a.look(g, public1)
		g.Expect(ip.Status.AnnouncedBy).To(HaveLen(2))
		if ip.Status.ManagedResource.Name == a.two.Name {
			first, second = a.two, a.one
		}
	}).Should(Succeed())
	a.Eventually(a.paths).WithArguments(public1).Should(HaveLen(2))
	a.reached("", func() (netip.Addr, error) { return a.connects(fabric.Internet, public1) })
	routes := a.watchRoute(public1)

	change(a.stack, first, func(r *resourcev1.ManagedResource) { r.Spec.HostAccess = resourcev1.FabricAccess })
	a.Eventually(a.publicOf).WithArguments(second).Should(Equal(public1))
	a.Eventually(func() (netip.Addr, error) { return a.connects(second.Name, a.server(fabric.Internet)) }).
		Should(Equal(netip.MustParseAddr(public1)), "the status has it a moment before the DPU does")
	a.reached("", func() (netip.Addr, error) { return a.connects(fabric.Internet, public1) })

	a.Eventually(routes).Should(HaveLen(2))
	gone, there := routes()[0], routes()[1]
	a.Expect(gone.what).To(Equal("no way"))
	a.Expect(there.what).To(Equal(string(second.Spec.DPUIPs[1])))
	steps := owners()
	hers := slices.IndexFunc(steps, func(s step) bool { return s.what == second.Name })
	a.Expect(hers).To(BeNumerically(">", 2))
	t.Log(steps, gone, there)
	a.Expect(steps[hers-1].what).To(Equal("none"))
	a.Expect(steps[hers-2].what).To(Equal(first.Name+" [] "), "it was withdrawn, and no speaker announced it")
	a.Expect(gone.at).To(BeTemporally("<", steps[hers].at))
}

// look reads a PublicIP that a host has.
func (s *stack) look(g Gomega, address string) *networkfabricv1.PublicIP {
	ip := &networkfabricv1.PublicIP{ObjectMeta: metav1.ObjectMeta{Name: "ip-" + address}}
	g.Expect(s.client.Get(s.t.Context(), keyOf(ip), ip)).To(Succeed())
	g.Expect(ip.Status.ManagedResource).NotTo(BeNil())
	return ip
}

// step is what has changed, and when.
type step struct {
	what string
	at   time.Time
}

// watchOwners records each state of the PublicIPs: the host of the address, and as long as it is announced or is to be, by which
// speakers and with which next hop.
func (s *stack) watchOwners() func() []step {
	s.t.Helper()
	watcher, err := client.NewWithWatch(s.kubernetes.AdminConfig(), client.Options{Scheme: s.client.Scheme()})
	s.Expect(err).NotTo(HaveOccurred())
	w, err := watcher.Watch(s.t.Context(), &networkfabricv1.PublicIPList{})
	s.Expect(err).NotTo(HaveOccurred())
	s.t.Cleanup(w.Stop)
	l := &list{}
	go func() {
		had := ""
		for event := range w.ResultChan() {
			ip, ok := event.Object.(*networkfabricv1.PublicIP)
			if !ok {
				continue
			}
			what := "none"
			switch at := ip.Status; {
			case at.ManagedResource != nil && at.ManagedResource.Name != had:
				had = at.ManagedResource.Name
				what = had
			case at.ManagedResource != nil:
				what = fmt.Sprintf("%s %v %s", had, at.AnnouncedBy, at.NextHop)
			default:
				had = ""
			}
			l.add(what)
		}
	}()
	return l.all
}

// watchRoute notes each change of the router's own way to an address: the next hop, or that there is none.
func (s *stack) watchRoute(address string) func() []step {
	s.t.Helper()
	updates, done := make(chan netlink.RouteUpdate, 64), make(chan struct{})
	s.t.Cleanup(func() { close(done) })
	s.Expect(s.Do(fabric.Router, func() error { return netlink.RouteSubscribe(updates, done) })).To(Succeed())
	l := &list{}
	go func() {
		for update := range updates {
			switch {
			case update.Dst == nil || update.Dst.String() != address+"/32":
			case update.Type == unix.RTM_DELROUTE:
				l.add("no way")
			default:
				l.add(update.Gw.String())
			}
		}
	}()
	return l.all
}

// list of steps that goroutines add to. What says the same as the one before is none.
type list struct {
	mutex sync.Mutex
	steps []step
}

func (l *list) add(what string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if n := len(l.steps); n == 0 || l.steps[n-1].what != what {
		l.steps = append(l.steps, step{what, time.Now()})
	}
}

func (l *list) all() []step {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.steps)
}
