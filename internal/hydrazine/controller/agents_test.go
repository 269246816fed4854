package controller_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/sbdb"
)

// says waits for a condition with a message: another one of the same reason may come first, as while other calls to the agent are running.
func (f *fixture) says(object conditioned, kind string, status metav1.ConditionStatus, reason string, message OmegaMatcher) {
	f.t.Helper()
	f.Eventually(func() string { return f.becomes(object, kind, status, reason) }).Should(message)
}

// What an agent says mustn't make a host come and go for ever.
func TestAgent_withAnImpossibleGateway(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	agent := f.agent(2)
	agent.Say(func(r *agentstest.Said) { r.Uplink.Gateways = []string{f.dpu(102)} })
	host := f.host("blue", 2)
	f.Expect(f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "WrongUplink")).To(
		ContainSubstring("is the gateway of DPU dpu2"))
	f.Expect(host.Status.LogicalPortReference).To(BeNil())
	f.Expect(agent.Calls("Attach")).To(BeZero())
	agent.Say(func(r *agentstest.Said) { r.Uplink.Gateways = []string{f.dpu(1)} })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}

func TestAgent_withTheNameOfAnother(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	f.agent(2)
	first := f.host("blue", 2)
	f.becomes(first, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	agent := f.agent(3)
	agent.Say(func(r *agentstest.Said) { r.Chassis = "dpu2" })
	second := f.host("blue", 3)
	f.Expect(f.becomes(second, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "InvalidAgentReport")).To(
		And(ContainSubstring("ManagedResource blue-host2 at "+f.dpu(2)), ContainSubstring("--chassis")))
	f.Expect(agent.Calls("Attach")).To(BeZero())
	agent.Say(func(r *agentstest.Said) { r.Chassis = "dpu3" })
	f.becomes(second, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(first, resourcev1.AgentReadyCondition, metav1.ConditionTrue, "")
}

// One that hasn't reported yet is lost in the end.
func TestAgent_thatNeverSpeaks(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	listener, err := net.Listen("tcp", net.JoinHostPort(f.loopback(2), strconv.Itoa(int(f.port()))))
	f.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	said := f.watch(&resourcev1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "blue-host2"},
	}, resourcev1.ReadyCondition)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentUnreachable")
	f.Eventually(said).Should(ContainElement("Pending"))
}

// The API server takes messages up to 32 KiB, and events up to one.
func TestAgent_thatSaysTooMuch(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	agent := f.agent(2)
	agent.Say(func(r *agentstest.Said) { r.Ports[0].Problem = strings.Repeat("ü", 40_000) })
	host := f.host("blue", 2)
	message := f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "PortProblem")
	f.Expect(len(message)).To(BeNumerically("<=", 1024))
	f.Expect(message).To(And(HavePrefix("port pf0hpf: üüü"), HaveSuffix("ü…")))

	// A whole report has bounds too, far above all that is in one. What is larger isn't read.
	agent.Say(func(r *agentstest.Said) { r.Ports[0].Problem = strings.Repeat("x", 256<<10) })
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "AgentUnreachable")
	agent.Say(func(r *agentstest.Said) { r.Ports[0].Problem = strings.Repeat("x", 200<<10) })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "PortProblem")
}

func TestAgent_thatWritesAddressesOtherwise(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue", func(g *resourcev1.ResourceGroup) { *g.Spec.Network = resourcev1.IPNet{IP: "fd00::", PrefixLength: 64} })
	agent := f.agent(2)
	agent.Say(func(r *agentstest.Said) {
		r.Uplink.Addresses = append(r.Uplink.Addresses, "FD01:0::2/64")
		r.Uplink.Gateways = append(r.Uplink.Gateways, "FD01:0::1")
	})
	host := f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.HostIP, r.Spec.DPUIPs[1] = "fd00::2", "fd01::66" })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.Expect(host.Status.LogicalPortReference.FabricGateway).To(BeEquivalentTo("fd01::1"))
}

// An answer counts by what it says.
func TestAgent_thatOnlyPretends(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	agent := f.agent(2)
	agent.Pretend(true)
	host := f.host("blue", 2)
	f.says(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "AgentRefused",
		ContainSubstring("didn't assign port pf0hpf"))
	agent.Pretend(false)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	agent.Pretend(true)
	f.Expect(f.client.Delete(t.Context(), host)).To(Succeed())
	f.says(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating",
		ContainSubstring("the host still has port pf0hpf"))
	agent.Pretend(false)
	f.gone(host)
}

// What a DPU says of a host counts if the host is behind it, and for no other host.
func TestAgent_thatSpeaksOfAnothersHost(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	agent, liar := f.agent(2), f.agent(3)
	liar.Say(func(r *agentstest.Said) { r.Ports = append(r.Ports, &agentv1.Port{Name: "pf1hpf", Up: true}) })
	host := f.host("blue", 2)
	own := f.host("blue", 3, func(r *resourcev1.ManagedResource) { r.Spec.Identifier = "pf0hpf" })
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(own, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	claim := func(r *agentstest.Said) {
		r.Ports[1].Assignment = &agentv1.Assignment{ResourceUid: string(host.UID), GroupUid: r.Ports[0].GetAssignment().GetGroupUid()}
	}

	// It reports the host as isolated, which continues elsewhere.
	liar.Pretend(true)
	agent.Pretend(true)
	f.Expect(f.client.Delete(t.Context(), host)).To(Succeed())
	f.says(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating",
		ContainSubstring("the host still has port pf0hpf"))
	f.Consistently(func() error { return f.client.Get(t.Context(), client.ObjectKeyFromObject(host), host) }, "3s").Should(Succeed())

	// It has the host, it says, which is isolated where it was.
	liar.Say(claim)
	f.Consistently(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
		g.Expect(host.Status.LogicalPortReference.DPU).To(Equal("dpu2"))
	}, "2s").Should(Succeed())
	agent.Pretend(false)
	f.Eventually(func() *agentv1.Assignment { return agent.Says().GetPorts()[0].GetAssignment() }).WithTimeout(patience).Should(BeNil())
	f.gone(host)
	f.becomes(own, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}

// A DPU is known as soon as its agent reports, whatever happens to the host: it may have no seat, or be isolated.
func TestDPU_isKnownWithoutAHostOnItsNetwork(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.group("blue")
	agent := f.agent(2)
	agent.Say(func(r *agentstest.Said) { r.Uplink.OtherAddresses = []string{"10.200.0.2"} })
	host := f.host("blue", 2, func(r *resourcev1.ManagedResource) { r.Spec.Identifier = "pf7hpf" })
	f.becomes(host, resourcev1.AgentReadyCondition, metav1.ConditionFalse, "NoPort")
	own := resourcev1.IPAddress(f.dpu(2))
	f.Expect(host.Status.DPUAddresses).To(ConsistOf(resourcev1.IPAddress("10.200.0.2"), own))

	f.change(host, func(s *resourcev1.ManagedResourceSpec) { s.State = resourcev1.Isolated })
	agent.Say(func(r *agentstest.Said) { r.Uplink.OtherAddresses = []string{"10.200.0.3"} })
	f.Eventually(func() []resourcev1.IPAddress {
		f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
		return host.Status.DPUAddresses
	}).Should(ConsistOf(resourcev1.IPAddress("10.200.0.3"), own))
}

// written counts how often the controllers write a status of this kind, once they run.
func written[T client.Object](f *fixture) *atomic.Int32 {
	n := &atomic.Int32{}
	f.faults.SubResourcePatch = func(
		ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
	) error {
		if _, ok := object.(T); ok {
			n.Add(1)
		}
		return c.SubResource(sub).Patch(ctx, object, patch, options...)
	}
	return n
}

// A DPU whose reports differ all the time, as by a host that takes its link up and down, mustn't take the manager's requests to the API
// server away from all other hosts.
func TestAgent_thatAlwaysSaysSomethingElse(t *testing.T) {
	t.Parallel()
	f := start(t)
	writes := written[*resourcev1.ManagedResource](f)
	f.run()
	f.group("blue")
	agent := f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	before, began := writes.Load(), time.Now()
	for i := 0; time.Since(began) < 8*time.Second; i++ {
		agent.Say(func(r *agentstest.Said) { r.Ports[0].Problem = fmt.Sprint("problem ", i) })
		time.Sleep(5 * time.Millisecond)
	}
	f.Expect(writes.Load() - before).To(BeNumerically("<=", 100+3*time.Since(began).Seconds()))
	agent.Say(func(r *agentstest.Said) { r.Ports[0].Problem = "the last one" })
	f.Eventually(func() string {
		return f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "PortProblem")
	}).Should(ContainSubstring("the last one"))
}

// Nor one that has the last change of its group, and hasn't, and has.
func TestAgent_thatAlwaysSaysAnotherChange(t *testing.T) {
	t.Parallel()
	f := start(t)
	writes := written[*resourcev1.ResourceGroup](f)
	f.run()
	group := f.group("blue")
	f.agent(2)
	f.becomes(f.host("blue", 2), resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	south, err := ovn.DialSouthbound(t.Context(), fmt.Sprintf("unix:%s/ovn-%s/sb.sock", f.dir, group.UID), nil)
	f.Expect(err).NotTo(HaveOccurred())
	defer south.Close()
	change := func(operation ovsdb.Operation) {
		operation.Table = sbdb.ChassisPrivateTable
		_, err := south.Transact(t.Context(), operation)
		f.Expect(err).NotTo(HaveOccurred())
	}
	all := func() int {
		n, err := strconv.Atoi(f.ovn(f.WithT, "ovn-nbctl", group, "get", "NB_Global", ".", "nb_cfg"))
		f.Expect(err).NotTo(HaveOccurred())
		return n
	}
	last := all()
	change(ovsdb.Operation{Op: ovsdb.OperationInsert, Row: ovsdb.Row{"name": "dpu2", "nb_cfg": last}})
	has := func(n int) {
		change(ovsdb.Operation{Op: ovsdb.OperationUpdate, Row: ovsdb.Row{"nb_cfg": n},
			Where: []ovsdb.Condition{ovsdb.NewCondition("name", ovsdb.ConditionEqual, "dpu2")}})
	}
	before, began := writes.Load(), time.Now()
	for time.Since(began) < 8*time.Second {
		has(0)
		time.Sleep(5 * time.Millisecond)
		has(last)
		time.Sleep(5 * time.Millisecond)
	}
	f.Expect(writes.Load() - before).To(BeNumerically("<=", 100+3*time.Since(began).Seconds()))
	has(all())
	f.becomes(group, resourcev1.PropagatedCondition, metav1.ConditionTrue, "")
}

// It may say that many hosts are behind its DPU: with a call for each it would have all workers.
func TestAgent_thatNeverAnswersLeavesWorkersToOthers(t *testing.T) {
	t.Parallel()
	const ports = 8
	f := start(t).run()
	f.group("blue")
	var calls atomic.Int32
	said := f.report(2)
	said.Ports = nil
	for i := range ports {
		said.Ports = append(said.Ports, &agentv1.Port{Name: fmt.Sprintf("pf%dhpf", i), Up: true})
	}
	agentstest.Start(t, f.loopback(2), f.port(), said, grpc.UnaryInterceptor(
		func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			calls.Add(1)
			defer calls.Add(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		}))
	for i := range ports {
		f.host("blue", 10+i, func(r *resourcev1.ManagedResource) {
			r.Spec.DPUIPs[0], r.Spec.Identifier = resourcev1.IPAddress(f.dpu(2)), fmt.Sprintf("pf%dhpf", i)
		})
	}
	f.Eventually(calls.Load).Should(BeNumerically(">=", 2))
	f.Consistently(calls.Load, "3s").Should(BeEquivalentTo(2), "there are four workers, and a call takes 10 s")
	f.agent(3)
	f.becomes(f.host("blue", 3), resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}
