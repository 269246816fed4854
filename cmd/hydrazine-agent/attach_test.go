package main

import (
	"context"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

func TestAttach_reportsInstalled(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	d.Eventually(func() bool { return d.port("pf0hpf").GetInstalled() }).WithTimeout(patience).Should(BeTrue())
	d.Eventually(func() bool { return d.report().GetOvnController().GetConnected() }).WithTimeout(patience).Should(BeTrue())

	report := d.report()
	d.Expect(report.GetLevel()).To(BeEquivalentTo(agentv1.Level))
	d.Expect(report.GetChassis()).To(Equal("dpu1"))
	d.Expect(report.GetComponents()).To(And(HaveKeyWithValue("ovn-controller", MatchRegexp(`^\d+\.`)),
		HaveKeyWithValue("ovs-vswitchd", MatchRegexp(`^\d+\.`))))
	d.Expect(report.GetCapabilities()).To(ConsistOf("datapath-netdev", "tunnel-geneve"))
	d.Expect(report.GetOvnController().GetRunning()).To(BeTrue())
	d.Expect(report.GetUplink().GetAddresses()).To(ConsistOf("172.18.0.5/24"))
	d.Expect(report.GetUplink().GetGateways()).To(ConsistOf("172.18.0.1"))
	d.Expect(report.GetUplink().GetMtu()).To(BeEquivalentTo(1500))
	d.Expect(report.GetUplink().GetUp()).To(BeTrue())
	port := d.port("pf0hpf")
	d.Expect(port.GetProblem()).To(BeEmpty())
	d.Expect(port.GetUp()).To(BeTrue())
	d.Expect(port.GetAssignment().GetResourceUid()).To(Equal("uid-h2"))
	d.Expect(port.GetLeaseExpires().AsTime()).To(BeTemporally("~", time.Now().Add(time.Hour), time.Minute))
}

func TestAttach_renewalKeepsGenerationAndFlows(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	before := d.port("pf0hpf").GetGeneration()
	changes := d.vsctl("get", "open", ".", "next_cfg")
	stream := d.stream("h2", "h3")
	_, err := d.attach("pf0hpf", "h2", 2*time.Hour)
	d.Expect(err).NotTo(HaveOccurred())
	_, lost := stream.end()
	d.Expect(lost).To(BeZero())
	d.Expect(d.port("pf0hpf").GetGeneration()).To(Equal(before))
	d.Expect(d.port("pf0hpf").GetLeaseExpires().AsTime()).To(BeTemporally("~", time.Now().Add(2*time.Hour), time.Minute))
	d.Expect(d.vsctl("get", "open", ".", "next_cfg")).To(Equal(changes))
}

// The fake agent passes it too, which the controller is tested with.
func TestContract_ofTheRealAgent(t *testing.T) {
	t.Parallel()
	d := newWorld(t, hostsBehind(1, 1, 2, 3)).dpu(1)
	d.startAgent()
	agentstest.Contract(t, agentstest.DPU{
		Client: d.client, Ports: [2]string{"pf0hpf", "pf1hpf"}, Address: d.ip, Southbound: d.central,
		Change: d.change,
	})
}

func TestUplinks_bonded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hostsBehind(1, 2, 2), hostsBehind(2, 1, 3))
	d, other := w.dpu(1), w.dpu(2)
	for _, each := range []*dpu{d, other} {
		each.startAgent()
	}
	_, err := d.attach("pf0hpf", "h2", time.Hour)
	w.Expect(err).NotTo(HaveOccurred())
	_, err = other.attach("pf0hpf", "h3", time.Hour)
	w.Expect(err).NotTo(HaveOccurred())
	w.reaches("h2", "h3")

	for _, port := range d.uplinks {
		w.Expect(w.fabric.Cut(d.name, port)).To(Succeed())
		w.Eventually(w.pings("h2", "h3")).WithTimeout(patience).Should(BeTrue(), "without "+port)
		w.Expect(d.report().GetUplink().GetUp()).To(BeTrue())
		w.Expect(w.fabric.Mend(d.name, port)).To(Succeed())
		w.Eventually(w.pings("h2", "h3")).WithTimeout(patience).Should(BeTrue(), "with "+port+" again")
	}
	w.Expect(w.fabric.Cut(d.name, "p0")).To(Succeed())
	w.Expect(w.fabric.Cut(d.name, "p1")).To(Succeed())
	w.Expect(w.pings("h2", "h3")()).To(BeFalse())
	w.Expect(w.fabric.Mend(d.name, "p0")).To(Succeed())
	w.reaches("h2", "h3")
}

// watch returns what waits for a report in which something is so. What comes only with the heartbeat comes too late.
func (d *dpu) watch() (until func(what string, is func(*agentv1.Report) bool)) {
	d.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	d.Cleanup(cancel)
	watch, err := d.client.Watch(ctx, &agentv1.WatchRequest{Heartbeat: durationpb.New(time.Minute)})
	d.Expect(err).NotTo(HaveOccurred())
	return func(what string, is func(*agentv1.Report) bool) {
		d.Helper()
		for {
			report, err := watch.Recv()
			d.Expect(err).NotTo(HaveOccurred(), what)
			if is(report) {
				return
			}
		}
	}
}

func TestWatch_tellsOfChanges(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	until := d.watch()
	first := func(r *agentv1.Report) *agentv1.Port { return r.GetPorts()[0] }
	until("at once", func(r *agentv1.Report) bool { return first(r).GetUp() })
	d.in("h2", "ip", "link", "set", "eth0", "down")
	until("a link that is lost", func(r *agentv1.Report) bool { return !first(r).GetUp() })
	d.in("h2", "ip", "link", "set", "eth0", "up")
	until("a link", func(r *agentv1.Report) bool { return first(r).GetUp() })
	d.Expect(d.fabric.Cut(d.name, "p0")).To(Succeed())
	until("an uplink that is lost", func(r *agentv1.Report) bool { return !r.GetUplink().GetUp() })
	d.Expect(d.fabric.Mend(d.name, "p0")).To(Succeed())
	until("an uplink", func(r *agentv1.Report) bool { return r.GetUplink().GetUp() })
	d.kill("ovsdb-server")
	until("a database that is gone", func(r *agentv1.Report) bool { return first(r).GetProblem() != "" })

	watch, err := d.client.Watch(t.Context(), &agentv1.WatchRequest{})
	d.Expect(err).NotTo(HaveOccurred())
	d.endAgent(syscall.SIGTERM)
	_, err = watch.Recv()
	for err == nil {
		_, err = watch.Recv()
	}
	d.Expect(grpcstatus.Code(err)).To(Equal(codes.Unavailable))
}
