// Package agentstest is an agent without a DPU: it keeps the agent's word, to the letter, and puts no packet anywhere.
package agentstest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"strconv"
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

// Said is what an agent reports.
type Said = agentv1.Report

// Agent of one DPU. Say changes what it reports.
type Agent struct {
	agentv1.UnimplementedAgentServer

	t       testing.TB
	address string
	options []grpc.ServerOption
	stop    func()

	mutex    sync.Mutex
	report   *agentv1.Report
	news     chan struct{} // closed at the next change
	refusing error
	idle     bool
	calls    map[string]int
	least    time.Duration // that was left of a lease when it was renewed
}

// Start an agent at an address, in plaintext without other options. It ends with the test.
func Start(t testing.TB, address string, port uint16, report *agentv1.Report, options ...grpc.ServerOption) *Agent {
	t.Helper()
	a := &Agent{
		t: t, address: net.JoinHostPort(address, strconv.Itoa(int(port))), options: options,
		report: report, news: make(chan struct{}), calls: map[string]int{}, least: time.Hour,
	}
	a.Restart()
	t.Cleanup(func() { a.Stop() })
	return a
}

// Stop answering.
func (a *Agent) Stop() { a.stop() }

// Restart to answer, with all that was known before.
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

// Upgrade to an agent that was built with other options. It goes on with all that the one before has written down.
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
		SouthboundRequest: Request(chassis),
	}
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

// Say something else from now on.
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
	return proto.Clone(a.report).(*agentv1.Report)
}

// Refuse all calls with an error, or none.
func (a *Agent) Refuse(err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.refusing = err
}

// Pretend to do what it is asked, or do it.
func (a *Agent) Pretend(idle bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.idle = idle
}

// Least says how much of a lease was left when it was renewed, of all renewals the least. Without one it is an hour.
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
		report, news := proto.Clone(a.report).(*agentv1.Report), a.news
		a.mutex.Unlock()
		report.Time = timestamppb.Now()
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
		return proto.Clone(a.report).(*agentv1.Report), nil
	}
	a.say(func(*agentv1.Report) {
		if changes(port.GetAssignment(), request.GetAssignment()) {
			port.Generation++
		}
		if proto.Equal(port.GetAssignment(), request.GetAssignment()) {
			a.least = min(a.least, time.Until(port.GetLeaseExpires().AsTime()))
		}
		port.Assignment = request.GetAssignment()
		a.report.Relay = nil
		if relay := request.GetAssignment().GetDhcpRelay(); relay != nil {
			a.report.Relay = &agentv1.Relay{Relay: relay}
		}
		port.LeaseExpires = timestamppb.New(request.GetAsOf().AsTime().Add(request.GetLease().AsDuration()))
	})
	return proto.Clone(a.report).(*agentv1.Report), nil
}

// changes says whether an assignment changes a port's generation.
func changes(from, to *agentv1.Assignment) bool {
	return from.GetResourceUid() != to.GetResourceUid() || from.GetGroupUid() != to.GetGroupUid() ||
		from.GetSouthbound() != to.GetSouthbound() || from.GetLogicalPort() != to.GetLogicalPort()
}

// port that is asked for, if it may be given.
func (a *Agent) port(request *agentv1.AttachRequest) (wanted *agentv1.Port, err error) {
	if !request.GetAsOf().IsValid() || request.GetAsOf().AsTime().After(time.Now()) {
		return nil, status.Error(codes.InvalidArgument, "as_of is missing, or in the future")
	}
	if time.Since(request.GetAsOf().AsTime()) > request.GetLease().AsDuration() {
		return nil, status.Error(codes.OutOfRange, "as_of is older than the lease is long")
	}
	for _, port := range a.report.GetPorts() {
		if port.GetName() == request.GetPort() {
			wanted = port
			continue
		}
		if group := port.GetAssignment().GetGroupUid(); group != "" && group != request.GetAssignment().GetGroupUid() {
			return nil, status.Error(codes.FailedPrecondition, "another port is on the network of another group")
		}
		if port.GetAssignment().GetResourceUid() == request.GetAssignment().GetResourceUid() {
			return nil, status.Error(codes.FailedPrecondition, "it has another port of this DPU")
		}
	}
	switch {
	case wanted == nil:
		return nil, status.Error(codes.NotFound, "there is no such port")
	case wanted.GetGeneration() != request.GetGeneration():
		return nil, status.Error(codes.Aborted, fmt.Sprintf("the generation is %d", wanted.GetGeneration()))
	}
	return wanted, nil
}

// Isolate implements agentv1.AgentServer.
func (a *Agent) Isolate(_ context.Context, request *agentv1.IsolateRequest) (*agentv1.Report, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.calls["Isolate"]++
	if a.refusing != nil {
		return nil, a.refusing
	}
	if !a.idle {
		a.isolate(request.GetResourceUid())
	}
	return proto.Clone(a.report).(*agentv1.Report), nil
}

// isolate a host. An Attach that was decided on before has to fail, also for ports that nobody had: they change too. They
// are told of when something else is.
func (a *Agent) isolate(resource string) {
	for _, port := range a.report.GetPorts() {
		switch port.GetAssignment().GetResourceUid() {
		case resource:
			a.say(func(*agentv1.Report) {
				port.Generation++
				port.Assignment, port.LeaseExpires, port.Installed = nil, nil, false
			})
		case "":
			port.Generation++
		}
	}
}
