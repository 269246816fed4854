package agentstest

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// DPU that an agent runs on, for Contract.
type DPU struct {
	Client agentv1.AgentClient
	// Ports to hosts, both free.
	Ports [2]string
	// Address that tunnels end at, and Southbound of a group.
	Address, Southbound string
	// Change has OVN on the DPU write the flows of a change of the group blue, once the DPU is on its network.
	Change func(number int64)
}

// Contract is agent.proto as calls and their answers. The fake agent and the real one pass it, so that tests with the fake prove
// something. Only the clock of the report's time counts: a real DPU's isn't its controller's.
func Contract(t *testing.T, on DPU) {
	for _, term := range []struct {
		name string
		test func(contract)
	}{
		{"reports at once, and again when nothing changes", contract.reports},
		{"a lease is counted from the report it was decided on", contract.leases},
		{"a renewal keeps the generation", contract.renewals},
		{"what is refused, and how", contract.refusals},
		{"an isolation makes what was decided before void", contract.isolations},
		{"changes are told at once", contract.changes},
		{"it says by which change packets are forwarded", contract.forwards},
		{"a lease ends by itself", contract.ends},
	} {
		t.Run(term.name, func(t *testing.T) {
			c := contract{NewWithT(t), t, on}
			t.Cleanup(func() { // each starts with what the one before has left: nothing
				for _, who := range []string{"one", "two"} {
					_, err := on.Client.Isolate(context.Background(), &agentv1.IsolateRequest{ResourceUid: who})
					c.Expect(err).NotTo(HaveOccurred())
				}
			})
			term.test(c)
		})
	}
}

type contract struct {
	*WithT
	t  *testing.T
	on DPU
}

const (
	lease   = time.Hour
	patient = 20 * time.Second
)

// watch returns what waits for the next report.
func (c contract) watch(heartbeat time.Duration) (next func() *agentv1.Report, stop func()) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	c.t.Cleanup(cancel)
	stream, err := c.on.Client.Watch(ctx, &agentv1.WatchRequest{Heartbeat: durationpb.New(heartbeat)})
	c.Expect(err).NotTo(HaveOccurred())
	return func() *agentv1.Report {
		c.t.Helper()
		report, err := stream.Recv()
		c.Expect(err).NotTo(HaveOccurred())
		return report
	}, cancel
}

func (c contract) report() *agentv1.Report {
	c.t.Helper()
	next, stop := c.watch(time.Minute)
	defer stop()
	return next()
}

func (c contract) port(r *agentv1.Report, n int) *agentv1.Port {
	c.t.Helper()
	for _, port := range r.GetPorts() {
		if port.GetName() == c.on.Ports[n] {
			return port
		}
	}
	c.t.Fatalf("there is no port %s", c.on.Ports[n])
	return nil
}

// request to attach a resource, based on the agent's current report.
func (c contract) request(n int, resource string) *agentv1.AttachRequest {
	c.t.Helper()
	now := c.report()
	return &agentv1.AttachRequest{
		Port: c.on.Ports[n], Generation: c.port(now, n).GetGeneration(), AsOf: now.GetTime(), Lease: durationpb.New(lease),
		Assignment: &agentv1.Assignment{
			ResourceUid: resource, GroupUid: "blue", Southbound: c.on.Southbound, LogicalPort: "port-" + resource, EncapIp: c.on.Address,
			HostMac: "02:00:0a:0a:0a:02", HostIps: []string{"10.10.10.2", "fd10::2"},
		},
	}
}

func (c contract) attach(request *agentv1.AttachRequest) *agentv1.Report {
	c.t.Helper()
	answer, err := c.on.Client.Attach(c.t.Context(), request)
	c.Expect(err).NotTo(HaveOccurred())
	return answer
}

// left of a lease, by the agent's own clock.
func left(r *agentv1.Report, port *agentv1.Port) time.Duration {
	return port.GetLeaseEnds().AsTime().Sub(r.GetTime().AsTime())
}

func (c contract) reports() {
	next, _ := c.watch(time.Second)
	first, second := next(), next()
	c.Expect(first.GetLevel()).To(BeEquivalentTo(agentv1.Level))
	c.Expect(second.GetTime().AsTime()).To(BeTemporally(">", first.GetTime().AsTime()))
	for n := range c.on.Ports {
		port := c.port(first, n)
		c.Expect(port.GetAssignment()).To(BeNil())
		c.Expect(port.GetLeaseExpires()).To(BeNil())
		c.Expect(port.GetLeaseEnds()).To(BeNil())
	}
}

func (c contract) leases() {
	request, began := c.request(0, "one"), time.Now()
	answer := c.attach(request)
	port := c.port(answer, 0)
	c.Expect(proto.Equal(port.GetAssignment(), request.GetAssignment())).To(BeTrue(), "%v", port)
	c.Expect(port.GetGeneration()).To(Equal(request.GetGeneration() + 1))
	c.Expect(port.GetLeaseEnds().AsTime().Sub(request.GetAsOf().AsTime())).To(Equal(lease))
	c.Expect(left(answer, port)).To(And(BeNumerically("<=", lease), BeNumerically(">", lease-patient)))
	c.Expect(port.GetLeaseExpires().AsTime().Add(-left(answer, port))).To(And( // for people: when the agent answered
		BeTemporally(">=", began.Add(-time.Second)), BeTemporally("<=", time.Now().Add(time.Second))))
	later := c.report()
	c.Expect(c.port(later, 0).GetLeaseEnds().AsTime()).To(BeTemporally("==", port.GetLeaseEnds().AsTime()))
	c.Expect(left(later, c.port(later, 0))).To(BeNumerically("<", left(answer, port)))
}

func (c contract) renewals() {
	before := c.attach(c.request(0, "one"))
	request := c.request(0, "one")
	request.Lease = durationpb.New(2 * lease)
	after := c.attach(request)
	c.Expect(c.port(after, 0).GetGeneration()).To(Equal(c.port(before, 0).GetGeneration()))
	c.Expect(left(after, c.port(after, 0))).To(BeNumerically(">", lease))
}

func (c contract) refusals() {
	c.attach(c.request(0, "one"))
	c.attach(c.request(1, "two"))
	before := c.report()
	for name, row := range map[string]struct {
		change func(*agentv1.AttachRequest)
		code   codes.Code
		says   string
	}{
		"a port there isn't":   {func(r *agentv1.AttachRequest) { r.Port = "pf9hpf" }, codes.NotFound, `"pf9hpf"`},
		"an uplink":            {func(r *agentv1.AttachRequest) { r.Port = "p0" }, codes.NotFound, `"p0"`},
		"another generation":   {func(r *agentv1.AttachRequest) { r.Generation++ }, codes.Aborted, "generation"},
		"another group":        {func(r *agentv1.AttachRequest) { r.Assignment.GroupUid = "red" }, codes.FailedPrecondition, "group"},
		"a resource twice":     {func(r *agentv1.AttachRequest) { r.Assignment.ResourceUid = "one" }, codes.FailedPrecondition, "another port"},
		"a port twice":         {func(r *agentv1.AttachRequest) { r.Assignment.LogicalPort = "port-one" }, codes.FailedPrecondition, "another port"},
		"a port that is held":  {func(r *agentv1.AttachRequest) { r.Assignment.ResourceUid = "three" }, codes.FailedPrecondition, "isolate"},
		"another's address":    {func(r *agentv1.AttachRequest) { r.Assignment.EncapIp = "192.0.2.99" }, codes.InvalidArgument, c.on.Address},
		"an address with text": {func(r *agentv1.AttachRequest) { r.Assignment.EncapIp = "there" }, codes.InvalidArgument, "encap_ip"},
		"no resource":          {func(r *agentv1.AttachRequest) { r.Assignment.ResourceUid = "" }, codes.InvalidArgument, "resource_uid"},
		"a name of words":      {func(r *agentv1.AttachRequest) { r.Assignment.LogicalPort = "a b" }, codes.InvalidArgument, "logical_port"},
		"a long name":          {func(r *agentv1.AttachRequest) { r.Assignment.GroupUid = strings.Repeat("x", 257) }, codes.InvalidArgument, "group_uid"},
		"a file":               {func(r *agentv1.AttachRequest) { r.Assignment.Southbound = "unix:/tmp/x" }, codes.InvalidArgument, "southbound"},
		"all hosts' MAC":       {func(r *agentv1.AttachRequest) { r.Assignment.HostMac = "ff:ff:ff:ff:ff:ff" }, codes.InvalidArgument, "host_mac"},
		"no host's address":    {func(r *agentv1.AttachRequest) { r.Assignment.HostIps[1] = "ff02::1" }, codes.InvalidArgument, "host_ips"},
		"an address alone":     {func(r *agentv1.AttachRequest) { r.Assignment.HostMac = "" }, codes.InvalidArgument, "host_mac"},
		"no lease":             {func(r *agentv1.AttachRequest) { r.Lease = nil }, codes.InvalidArgument, "lease"},
		"an endless lease":     {func(r *agentv1.AttachRequest) { r.Lease = durationpb.New(8 * 24 * time.Hour) }, codes.InvalidArgument, "lease"},
		"no time":              {func(r *agentv1.AttachRequest) { r.AsOf = nil }, codes.InvalidArgument, "as_of"},
		"a time in the future": {func(r *agentv1.AttachRequest) { r.AsOf.Seconds += 60 }, codes.OutOfRange, "begun"},
		"a lease that is over": {func(r *agentv1.AttachRequest) { r.AsOf.Seconds -= 3600 }, codes.OutOfRange, "ended"},
	} {
		request := c.request(1, "two")
		row.change(request)
		_, err := c.on.Client.Attach(c.t.Context(), request)
		c.Expect(status.Code(err)).To(Equal(row.code), "%s: %v", name, err)
		c.Expect(status.Convert(err).Message()).To(ContainSubstring(row.says), name)
	}
	_, err := c.on.Client.Isolate(c.t.Context(), &agentv1.IsolateRequest{})
	c.Expect(status.Code(err)).To(Equal(codes.InvalidArgument), "%v", err)
	after := c.report()
	for n := range c.on.Ports {
		c.Expect(proto.Equal(c.port(after, n), c.port(before, n))).To(BeTrue(), "%v", c.port(after, n))
	}
}

func (c contract) isolations() {
	first, other := c.request(0, "one"), c.request(1, "two")
	c.attach(first)
	stale := c.request(0, "one")
	answer, err := c.on.Client.Isolate(c.t.Context(), &agentv1.IsolateRequest{ResourceUid: "one"})
	c.Expect(err).NotTo(HaveOccurred())
	port := c.port(answer, 0)
	c.Expect(port.GetAssignment()).To(BeNil())
	c.Expect(port.GetLeaseEnds()).To(BeNil())
	c.Expect(port.GetGeneration()).To(BeNumerically(">", stale.GetGeneration()))
	for _, late := range []*agentv1.AttachRequest{stale, other} { // of another port too: it may be the same host's
		_, err = c.on.Client.Attach(c.t.Context(), late)
		c.Expect(status.Code(err)).To(Equal(codes.Aborted), "%v", err)
	}
	c.attach(c.request(0, "two"))
	answer, err = c.on.Client.Isolate(c.t.Context(), &agentv1.IsolateRequest{ResourceUid: "one"})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(c.port(answer, 0).GetAssignment().GetResourceUid()).To(Equal("two"), "who hasn't a port is isolated already")
}

func (c contract) changes() {
	next, _ := c.watch(time.Minute)
	next()
	began := time.Now()
	c.attach(c.request(0, "one"))
	for c.port(next(), 0).GetAssignment() == nil {
	}
	_, err := c.on.Client.Isolate(c.t.Context(), &agentv1.IsolateRequest{ResourceUid: "one"})
	c.Expect(err).NotTo(HaveOccurred())
	for c.port(next(), 0).GetAssignment() != nil {
	}
	c.Expect(time.Since(began)).To(BeNumerically("<", patient), "before the next heartbeat")
}

func (c contract) forwards() {
	none := And(Not(BeNil()), HaveField("GetGroupUid()", BeEmpty()), HaveField("GetChange()", BeZero()))
	c.Expect(c.report().GetDatapath()).To(none, "an older agent has no datapath")
	c.attach(c.request(0, "one"))
	next, _ := c.watch(time.Minute)
	began := time.Now()
	for number := range int64(3) {
		c.on.Change(number + 7)
		for d := next().GetDatapath(); d.GetChange() != number+7; d = next().GetDatapath() {
			c.Expect(d).NotTo(BeNil())
		}
		c.Expect(c.report().GetDatapath().GetGroupUid()).To(Equal("blue"))
	}
	c.Expect(time.Since(began)).To(BeNumerically("<", patient), "before the next heartbeat")
	answer, err := c.on.Client.Isolate(c.t.Context(), &agentv1.IsolateRequest{ResourceUid: "one"})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(answer.GetDatapath()).To(none, "the DPU has left the network")
	c.attach(c.request(0, "one"))
	c.Expect(c.report().GetDatapath()).NotTo(BeNil())
}

func (c contract) ends() {
	c.attach(c.request(0, "one"))
	request := c.request(0, "one")
	request.Lease = durationpb.New(10 * time.Second) // shortened
	held := c.port(c.attach(request), 0)
	next, _ := c.watch(time.Minute)
	report := next()
	for c.port(report, 0).GetAssignment() != nil {
		c.Expect(left(report, c.port(report, 0))).To(BeNumerically(">=", 0))
		report = next()
	}
	c.Expect(report.GetTime().AsTime()).To(BeTemporally(">=", held.GetLeaseEnds().AsTime()))
	c.Expect(c.port(report, 0).GetLeaseEnds()).To(BeNil())
	c.Expect(c.port(report, 0).GetGeneration()).To(BeNumerically(">", held.GetGeneration()))
}
