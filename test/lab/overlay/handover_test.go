package overlay_test

import (
	"cmp"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/unixctl"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

// upTenants is hosts of two tenants in turn, each of which says its name at its fabric address.
func upTenants(t *testing.T, dpus int) (s *stack, hosts []*resourcev1.ManagedResource) {
	t.Helper()
	s = up(t, fabric.Flat(dpus))
	tenants, ips := []string{"blue", "red"}, []string{"10.10.10.2", "10.10.10.3"}
	for _, tenant := range tenants {
		s.group(tenant)
	}
	for i, host := range s.Topology().Hosts() {
		hosts = append(hosts, s.join(tenants[i%2], host.Name, ips[i/2]))
	}
	s.ready(hosts...)
	for _, host := range s.Topology().Hosts() {
		s.nameServer(host.Name)
		s.Eventually(func() string { return s.nameOf(host.FabricIP.String()) }).Should(Equal(host.Name))
	}
	return s, hosts
}

// hold keeps OVN from changing anything on some DPUs, which answer as before, until what is returned is called.
func (s *stack) hold(dpus ...string) (goOn func()) {
	s.t.Helper()
	var controllers []int
	for _, dpu := range dpus {
		controllers = append(controllers, s.pidIn(filepath.Join(s.RunDir(dpu), "ovn-controller.pid")))
	}
	signal := func(signal syscall.Signal) (err error) {
		for _, pid := range controllers {
			err = cmp.Or(err, syscall.Kill(pid, signal))
		}
		return err
	}
	s.Expect(signal(syscall.SIGSTOP)).To(Succeed())
	return func() { _ = signal(syscall.SIGCONT) } // the agent may have ended it
}

// The hosts of two tenants hand their fabric addresses on in a circle while all of them are asked for their identity, and two DPUs get
// the change late. Each address is answered for by the old host, and then by the new one: never by the old one again, wherever that is
// asked, nor by any other.
func TestAddresses_underLoadAreOneHostsAtATime(t *testing.T) {
	t.Parallel()
	s, hosts := upTenants(t, 4)
	address := func(i int) string { return s.Topology().Hosts()[i%len(hosts)].FabricIP.String() }
	a := s.underLoad(func(a *answers) {
		for i, h := range hosts {
			s.more(a, address(i), h.Name)
		}
		goOn := s.hold("dpu1", "dpu3")
		for i, h := range hosts {
			change(s, h, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = resourcev1.IPAddress(address(i + 1)) })
		}
		for _, i := range []int{1, 3, 0, 2} {
			if i == 0 {
				goOn()
			}
			h := hosts[i]
			s.Eventually(func() string { return s.nameOf(address(i + 1)) }).WithTimeout(2 * patience).Should(Equal(h.Name))
			s.more(a, address(i+1), h.Name)
		}
		s.ready(hosts...)
	})
	for i, h := range hosts {
		after := hosts[(i+len(hosts)-1)%len(hosts)].Name
		names, counts := a.of(address(i))
		t.Logf("%s: %v", address(i), counts)
		s.Expect(names).To(Equal([]string{h.Name, after}), a.others(address(i), h.Name, after))
		s.Expect(a.late(address(i), h.Name, after)).To(BeEmpty())
	}
}

// A host is taken off its network, and its address is another tenant's by now, when the host comes back with another one: its DPU is given
// nothing of before, however late ovn-northd removes that.
func TestAddress_ofBeforeDoesNotComeBackWithTheHost(t *testing.T) {
	t.Parallel()
	s, hosts := upTenants(t, 2)
	blue, red := hosts[0], hosts[1]
	group, wanted := &resourcev1.ResourceGroup{}, string(blue.Spec.DPUIPs[1])
	s.Expect(s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "blue"}, group)).To(Succeed())
	northd := func(command string) {
		_, err := unixctl.Call(t.Context(), filepath.Join(s.dir, "ovn", "ovn-"+string(group.UID), "northd.ctl"), command)
		s.Expect(err).NotTo(HaveOccurred())
	}
	a := s.underLoad(func(a *answers) {
		s.more(a, wanted, blue.Name)
		northd("pause")
		change(s, blue, func(r *resourcev1.ManagedResource) {
			r.Spec.State, r.Spec.DPUIPs[1] = resourcev1.Isolated, "172.18.0.200"
		})
		s.becomes(blue, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolated")
		change(s, red, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = resourcev1.IPAddress(wanted) })
		s.more(a, wanted, red.Name)
		change(s, blue, func(r *resourcev1.ManagedResource) { r.Spec.State = resourcev1.Attached })
		s.becomes(blue, resourcev1.AttachedCondition, metav1.ConditionFalse, "CentralNotReady")
		s.more(a, wanted, red.Name)
		northd("resume")
		s.ready(blue, red)
	})
	names, counts := a.of(wanted)
	t.Logf("%s: %v", wanted, counts)
	s.Expect(names).To(Equal([]string{blue.Name, red.Name}))
	s.Expect(a.late(wanted, blue.Name, red.Name)).To(BeEmpty())
}

// pause keeps ovs-vswitchd of a DPU from replacing what it has derived from OVN's flows, so that it forwards as before, until what is returned
// is called.
func (s *stack) pause(dpu string) (resume func()) {
	s.t.Helper()
	socket, _, err := unixctl.Socket(s.RunDir(dpu), "ovs-vswitchd")
	s.Expect(err).NotTo(HaveOccurred())
	call := func(command string) {
		s.t.Helper()
		_, err := unixctl.Call(s.t.Context(), socket, command)
		s.Expect(err).NotTo(HaveOccurred())
	}
	call("revalidator/pause")
	return func() { s.t.Helper(); call("revalidator/resume") }
}

// pin has the fabric take all that is for an address to a DPU, whatever it hears of the address, until what is returned is called.
func (s *stack) pin(address, dpu string) (free func()) {
	s.t.Helper()
	at := []string{s.neighbor(fabric.Router, netip.MustParseAddr(address)).String(), "dev", dpu + "-" + fabric.NIC(0), "master"}
	fdb := func(args ...string) {
		s.t.Helper()
		args = append([]string{"-n", s.Namespace(fabric.Router), "fdb"}, args...)
		said, err := exec.CommandContext(s.t.Context(), "bridge", args...).CombinedOutput()
		s.Expect(err).NotTo(HaveOccurred(), string(said))
	}
	fdb(slices.Concat([]string{"replace"}, at, []string{"static", "sticky"})...)
	return func() { s.t.Helper(); fdb(slices.Concat([]string{"delete"}, at)...) }
}

// A DPU has OVN's flows of its host's other address, and forwards connections by those of before: another tenant's host gets the previous
// address when the DPU has stopped answering for it. Nothing else waits for that.
func TestAddress_isReleasedWhenPacketsAreForwardedWithoutIt(t *testing.T) {
	t.Parallel()
	s, hosts := upTenants(t, 3)
	blue, red, stays := hosts[0], hosts[1], hosts[2]
	group := &resourcev1.ResourceGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "blue"}}
	before, wanted := s.propagated(group, 0), string(blue.Spec.DPUIPs[1])
	unpin, resume := s.pin(wanted, "dpu1"), s.pause("dpu1")
	change(s, blue, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = "172.18.0.200" })
	s.propagated(group, before)
	s.ready(blue, stays)
	change(s, red, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = resourcev1.IPAddress(wanted) })
	for range 10 {
		s.becomes(red, resourcev1.AcceptedCondition, metav1.ConditionFalse, "AddressTaken")
		s.named(wanted, blue.Name)
		time.Sleep(300 * time.Millisecond)
	}
	resume()
	began := time.Now()
	s.ready(blue, red, stays)
	t.Logf("it has the address after %s", time.Since(began).Round(time.Millisecond))
	s.Expect(s.nameOf(wanted)).To(BeEmpty(), "the DPU of before still gets what is sent there")
	unpin()
	s.Eventually(func() string { return s.nameOf(wanted) }).Should(Equal(red.Name))
}

// A DPU keeps its state when neither its agent nor OVN can be reached. Its host has another address by now, and another tenant's host
// asks for the previous one: that host gets it when the DPU has released it, and not while it answers.
func TestAddress_ofADPUThatIsAwayIsNoOtherTenants(t *testing.T) {
	t.Parallel()
	s, hosts := upTenants(t, 3)
	blue, red, stays := hosts[0], hosts[1], hosts[2]
	wanted, free := string(blue.Spec.DPUIPs[1]), resourcev1.IPAddress("172.18.0.200")
	var refused *metav1.Condition
	a := s.underLoad(func(a *answers) {
		s.Kill("dpu1")
		s.becomes(blue, resourcev1.AttachedCondition, metav1.ConditionUnknown, "AgentUnreachable")
		goOn := s.hold("dpu1")
		change(s, blue, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = free })
		change(s, red, func(r *resourcev1.ManagedResource) { r.Spec.DPUIPs[1] = resourcev1.IPAddress(wanted) })
		s.Eventually(func(g Gomega) {
			g.Expect(s.client.Get(t.Context(), keyOf(red), red)).To(Succeed())
			refused = meta.FindStatusCondition(red.Status.Conditions, resourcev1.AcceptedCondition)
			g.Expect(refused.ObservedGeneration).To(Equal(red.Generation))
		}).Should(Succeed())
		s.more(a, wanted, blue.Name)
		goOn()
		s.Expect(s.StartAgent(t.Context(), "dpu1")).To(Succeed())
		s.ready(blue, red, stays)
		s.Eventually(func() string { return s.nameOf(wanted) }).Should(Equal(red.Name))
		s.more(a, wanted, red.Name)
	})
	names, counts := a.of(wanted)
	t.Logf("%s: %v", wanted, counts)
	s.Expect(names).To(Equal([]string{blue.Name, red.Name}))
	s.Expect(a.late(wanted, blue.Name, red.Name)).To(BeEmpty())
	s.Expect(*refused).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "AddressTaken")))
}
