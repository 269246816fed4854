// Package agentstest is an agent without a DPU: it follows the agent's contract exactly, and forwards no packets.
package agentstest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// uptime of the fake DPU when its agent starts.
const uptime = 3 * time.Hour

// Said is what an agent reports.
type Said = agentv1.Report

// Agent of one DPU. Say changes what it reports.
type Agent struct {
	agentv1.UnimplementedAgentServer

	t       testing.TB
	booted  time.Time
	address string
	options []grpc.ServerOption
	stop    func()

	mutex    sync.Mutex
	report   *agentv1.Report
	news     chan struct{} // closed at the next change
	refusing error
	idle     bool
	calls    map[string]int
	least    time.Duration // the smallest remainder of a lease at a renewal
}

// Start an agent at an address, in plaintext without other options. It ends with the test.
func Start(t testing.TB, address string, port uint16, report *agentv1.Report, options ...grpc.ServerOption) *Agent {
	t.Helper()
	a := &Agent{
		t: t, booted: time.Now().Add(-uptime), address: net.JoinHostPort(address, strconv.Itoa(int(port))), options: options,
		report: report, news: make(chan struct{}), calls: map[string]int{}, least: time.Hour,
	}
	a.Restart()
	t.Cleanup(func() { a.Stop() })
	return a
}

// now is the time since the fake DPU was started, as a timestamp. It isn't the wall clock, as with a real DPU.
func (a *Agent) now() *timestamppb.Timestamp {
	return timestamppb.New(time.Unix(0, 0).Add(time.Since(a.booted)))
}

// left of a port's lease.
func (a *Agent) left(port *agentv1.Port) time.Duration {
	return port.GetLeaseEnds().AsTime().Sub(a.now().AsTime())
}

// Stop answering.
func (a *Agent) Stop() { a.stop() }

// Restart answering, with the state from before.
func (a *Agent) Restart() {
	a.t.Helper()
	listener, err := net.Listen("tcp", a.address)
	if err != nil {
		a.t.Fatalf("listen for the controller: %v", err)
	}
	server := grpc.NewServer(a.options...)
	agentv1.RegisterAgentServer(server, a)
	go func() { _ = server.Serve(listener) }()
	a.stop = server.Stop
}

// Upgrade to an agent that was built with other options. It continues with all that the one before has written down.
func (a *Agent) Upgrade(change func(*agentv1.Report), options ...grpc.ServerOption) {
	a.t.Helper()
	a.Stop()
	a.options = options
	a.Say(change)
	a.Restart()
}

// Report of a DPU with one host port that is isolated.
func Report(chassis, address, gateway string) *agentv1.Report {
	return &agentv1.Report{
		Level: agentv1.Level, Version: "v0.1.0-test", Chassis: chassis,
		Uplink:            &agentv1.Uplink{Interfaces: []string{"p0"}, Bridge: "br-transport", Addresses: []string{address}, Gateways: []string{gateway}, Mtu: 1500, Up: true},
		Ports:             []*agentv1.Port{{Name: "pf0hpf", Up: true}},
		OvnController:     &agentv1.OVNController{Running: true, Connected: true},
		SouthboundRequest: Request(chassis), Datapath: &agentv1.Datapath{},
	}
}

// Forward by a change of a group, if the DPU is on its network.
func (a *Agent) Forward(group string, change int64) {
	a.Say(func(r *agentv1.Report) {
		if serves(r, group) && r.GetDatapath() != nil {
			r.Datapath = &agentv1.Datapath{GroupUid: group, Change: change}
		}
	})
}

func serves(r *agentv1.Report, group string) bool {
	return slices.ContainsFunc(r.GetPorts(), func(p *agentv1.Port) bool { return p.GetAssignment().GetGroupUid() == group })
}

// Request for a certificate, with a key of its own.
func Request(chassis string) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: chassis}}, key)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

// Say changes what it reports from now on.
func (a *Agent) Say(change func(*agentv1.Report)) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.say(change)
}

func (a *Agent) say(change func(*agentv1.Report)) {
	change(a.report)
	close(a.news)
	a.news = make(chan struct{})
}

// Says what it reports now.
func (a *Agent) Says() *agentv1.Report {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.says()
}

func (a *Agent) says() *agentv1.Report {
	report := proto.Clone(a.report).(*agentv1.Report)
	report.Time = a.now()
	return report
}

// Refuse all calls with an error, or none.
func (a *Agent) Refuse(err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.refusing = err
}

// Pretend to do what is requested, or do it.
func (a *Agent) Pretend(idle bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.idle = idle
}

// Least is the smallest remainder of a lease at a renewal. Without one it is an hour.
func (a *Agent) Least() time.Duration {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.least
}

// Calls says how often a method was called.
func (a *Agent) Calls(method string) int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.calls[method]
}

// Watch implements agentv1.AgentServer.
func (a *Agent) Watch(request *agentv1.WatchRequest, stream grpc.ServerStreamingServer[agentv1.Report]) error {
	for {
		a.mutex.Lock()
		report, news := a.says(), a.news
		a.mutex.Unlock()
		if err := stream.Send(report); err != nil {
			return err
		}
		select {
		case <-news:
		case <-time.After(request.GetHeartbeat().AsDuration()):
		case <-stream.Context().Done():
			return nil
		}
	}
}

// Attach implements agentv1.AgentServer.
func (a *Agent) Attach(_ context.Context, request *agentv1.AttachRequest) (*agentv1.Report, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.calls["Attach"]++
	if a.refusing != nil {
		return nil, a.refusing
	}
	port, err := a.port(request)
	if err != nil {
		return nil, err
	}
	if a.idle {
		return a.says(), nil
	}
	a.say(func(*agentv1.Report) {
		if changes(port.GetAssignment(), request.GetAssignment()) {
			port.Generation++
		}
		if proto.Equal(port.GetAssignment(), request.GetAssignment()) {
			a.least = min(a.least, a.left(port))
		}
		port.Assignment = request.GetAssignment()
		a.report.Relay = nil
		if relay := request.GetAssignment().GetDhcpRelay(); relay != nil {
			a.report.Relay = &agentv1.Relay{Relay: relay}
		}
		port.LeaseEnds = timestamppb.New(request.GetAsOf().AsTime().Add(request.GetLease().AsDuration()))
		port.LeaseExpires = timestamppb.New(time.Now().Add(a.left(port)))
		time.AfterFunc(a.left(port), func() {
			a.mutex.Lock()
			defer a.mutex.Unlock()
			a.expire()
		})
	})
	return a.says(), nil
}

// changes reports whether an assignment changes a port's generation.
func changes(from, to *agentv1.Assignment) bool {
	return from.GetResourceUid() != to.GetResourceUid() || from.GetGroupUid() != to.GetGroupUid() ||
		from.GetSouthbound() != to.GetSouthbound() || from.GetLogicalPort() != to.GetLogicalPort()
}

// check what a request says, as far as that doesn't depend on assignments.
func (a *Agent) check(request *agentv1.AttachRequest) error {
	to, lease := request.GetAssignment(), request.GetLease().AsDuration()
	for name, value := range map[string]string{
		"resource_uid": to.GetResourceUid(), "group_uid": to.GetGroupUid(), "logical_port": to.GetLogicalPort(),
	} {
		if value == "" || len(value) > 256 || strings.ContainsAny(value, " \n") {
			return status.Error(codes.InvalidArgument, name+" is no name")
		}
	}
	if _, err := netip.ParseAddr(to.GetEncapIp()); err != nil {
		return status.Error(codes.InvalidArgument, "encap_ip is no address")
	}
	if !strings.HasPrefix(to.GetSouthbound(), "tcp:") && !strings.HasPrefix(to.GetSouthbound(), "ssl:") {
		return status.Error(codes.InvalidArgument, "southbound is neither tcp: nor ssl:")
	}
	named := to.GetHostMac() != "" || len(to.GetHostIps()) > 0
	if mac, err := net.ParseMAC(to.GetHostMac()); named && (err != nil || mac[0]&1 != 0) {
		return status.Error(codes.InvalidArgument, "host_mac is no host's")
	}
	for _, text := range to.GetHostIps() {
		if ip, err := netip.ParseAddr(text); err != nil || !ip.IsGlobalUnicast() {
			return status.Error(codes.InvalidArgument, "host_ips has an address that is no host's")
		}
	}
	if lease <= 0 || lease > 7*24*time.Hour {
		return status.Error(codes.InvalidArgument, "the lease isn't between nothing and a week")
	}
	if request.GetAsOf() == nil {
		return status.Error(codes.InvalidArgument, "as_of is missing")
	}
	own := a.report.GetUplink().GetAddresses()
	if !slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(prefix, to.GetEncapIp()+"/") }) {
		return status.Errorf(codes.InvalidArgument, "the DPU has %v", own)
	}
	return nil
}

// port that is requested, if it may be assigned.
func (a *Agent) port(request *agentv1.AttachRequest) (wanted *agentv1.Port, err error) {
	if err := a.check(request); err != nil {
		return nil, err
	}
	a.expire()
	if old := a.now().AsTime().Sub(request.GetAsOf().AsTime()); old < 0 || old >= request.GetLease().AsDuration() {
		return nil, status.Error(codes.OutOfRange, "the lease has ended, or has not begun")
	}
	i := slices.IndexFunc(a.report.GetPorts(), func(p *agentv1.Port) bool { return p.GetName() == request.GetPort() })
	if i < 0 {
		return nil, status.Errorf(codes.NotFound, "there is no port %q", request.GetPort())
	}
	wanted = a.report.GetPorts()[i]
	if wanted.GetGeneration() != request.GetGeneration() {
		return nil, status.Errorf(codes.Aborted, "the generation is %d", wanted.GetGeneration())
	}
	for _, other := range a.report.GetPorts() {
		has, to := other.GetAssignment(), request.GetAssignment()
		switch {
		case other == wanted || has == nil:
		case has.GetGroupUid() != to.GetGroupUid():
			return nil, status.Error(codes.FailedPrecondition, "another port is on the network of another group")
		case has.GetResourceUid() == to.GetResourceUid(), has.GetLogicalPort() == to.GetLogicalPort():
			return nil, status.Error(codes.FailedPrecondition, "it has another port of this DPU")
		}
	}
	if has := wanted.GetAssignment().GetResourceUid(); has != "" && has != request.GetAssignment().GetResourceUid() {
		return nil, status.Errorf(codes.FailedPrecondition, "resource %s has the port: isolate it first", has)
	}
	return wanted, nil
}

// Isolate implements agentv1.AgentServer.
func (a *Agent) Isolate(_ context.Context, request *agentv1.IsolateRequest) (*agentv1.Report, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.calls["Isolate"]++
	if request.GetResourceUid() == "" {
		return nil, status.Error(codes.InvalidArgument, "resource_uid is missing")
	}
	if a.refusing != nil {
		return nil, a.refusing
	}
	if !a.idle {
		a.isolate(request.GetResourceUid())
	}
	return a.says(), nil
}

// expire isolates hosts whose leases have expired.
func (a *Agent) expire() {
	for _, port := range a.report.GetPorts() {
		if port.GetLeaseEnds() != nil && a.left(port) <= 0 {
			a.say(func(r *agentv1.Report) { free(r, port) })
		}
	}
}

// isolate a host. An Attach that was decided on before has to fail, also for unassigned ports: they change too. Those are
// reported with the next other change.
func (a *Agent) isolate(resource string) {
	for _, port := range a.report.GetPorts() {
		switch port.GetAssignment().GetResourceUid() {
		case resource:
			a.say(func(r *agentv1.Report) { free(r, port) })
		case "":
			port.Generation++
		}
	}
}

func free(r *agentv1.Report, port *agentv1.Port) {
	port.Generation++
	port.Assignment, port.LeaseExpires, port.LeaseEnds, port.Installed = nil, nil, nil, false
	if group := r.GetDatapath().GetGroupUid(); group != "" && !serves(r, group) {
		r.Datapath = &agentv1.Datapath{} // the DPU leaves the network with its last host
	}
}
