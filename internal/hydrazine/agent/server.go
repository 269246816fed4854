package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/link"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
)

const (
	minHeartbeat, defaultHeartbeat, maxHeartbeat = time.Second, 10 * time.Second, time.Minute
	// maxLease is longer than any outage of a controller that hosts should survive.
	maxLease = 7 * 24 * time.Hour
	// maxText is longer than any name or address of a controller.
	maxText = 256
)

// server answers the controller.
type server struct {
	agentv1.UnimplementedAgentServer
	agent    *Agent
	watchers chan struct{} // the limit of concurrent watches
	stop     <-chan struct{}
}

// Watch implements agentv1.AgentServer.
func (s *server) Watch(request *agentv1.WatchRequest, stream agentv1.Agent_WatchServer) error {
	select {
	case s.watchers <- struct{}{}:
		defer func() { <-s.watchers }()
	default:
		return grpcstatus.Error(codes.ResourceExhausted, "too many watches are open already")
	}
	heartbeat := request.GetHeartbeat().AsDuration()
	if heartbeat <= 0 {
		heartbeat = defaultHeartbeat
	}
	ticker := time.NewTicker(min(max(heartbeat, minHeartbeat), maxHeartbeat))
	defer ticker.Stop()
	var last *agentv1.Report
	for due := true; ; {
		news := s.agent.news.wait()
		report, err := s.agent.report()
		if err != nil {
			return err
		}
		if due || !same(report, last) {
			if err := stream.Send(report); err != nil {
				return err
			}
			last = report
		}
		rest(stream.Context(), pause)
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-s.stop:
			return grpcstatus.Error(codes.Unavailable, "the agent is being stopped")
		case <-news:
			due = false
		case <-ticker.C:
			due = true
		}
	}
}

// same reports whether two reports differ in nothing but their time.
func same(report, last *agentv1.Report) bool {
	if last == nil {
		return false
	}
	now, before := report.GetTime(), last.GetTime()
	report.Time, last.Time = nil, nil
	defer func() { report.Time, last.Time = now, before }()
	return proto.Equal(report, last)
}

// Attach implements agentv1.AgentServer.
func (s *server) Attach(ctx context.Context, request *agentv1.AttachRequest) (*agentv1.Report, error) {
	to, err := assignment(request.GetAssignment())
	if err != nil {
		return nil, grpcstatus.Error(codes.InvalidArgument, err.Error())
	}
	lease := request.GetLease().AsDuration()
	if lease <= 0 || lease > maxLease {
		return nil, grpcstatus.Errorf(codes.InvalidArgument, "the lease is %s: choose one up to %s", lease, maxLease)
	}
	if request.GetAsOf() == nil {
		return nil, grpcstatus.Error(codes.InvalidArgument, "as_of is missing: write the time of the report this was decided on")
	}
	a, port := s.agent, request.GetPort()
	if err := a.identity.check(to.Network); err != nil {
		return nil, grpcstatus.Error(codes.InvalidArgument, err.Error())
	}
	if err := cmp.Or(a.admit(port, to.Network.EncapIP), a.admitRelay(to.Network.Relay)); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // the caller doesn't wait any more
		return nil, grpcstatus.FromContextError(ctx.Err()).Err()
	}
	if err := a.keeper.Attach(port, request.GetGeneration(), to, sinceBootAt(request.GetAsOf()), lease); err != nil {
		return nil, grpcstatus.Error(refusal(err), err.Error())
	}
	isolation, attachment := a.apply(ctx)
	if err := errors.Join(isolation, attachment); err != nil {
		return nil, grpcstatus.Errorf(codes.Unavailable, "%s is assigned, but not connected yet: %s", port, words([]error{err}))
	}
	return a.report()
}

// admit refuses what the DPU doesn't have.
func (a *Agent) admit(port string, encapIP netip.Addr) error {
	ports, err := link.Match(a.options.HostPorts)
	if err != nil {
		return grpcstatus.Error(codes.Unavailable, err.Error())
	}
	if !slices.ContainsFunc(ports, func(l link.Link) bool { return l.Name == port }) {
		return grpcstatus.Errorf(codes.NotFound, "there is no port %q to a host", port)
	}
	a.keeper.Meet(port)
	addresses, err := link.Addresses(vswitch.TransportBridge)
	if err != nil {
		return grpcstatus.Error(codes.Unavailable, err.Error())
	}
	if len(addresses) == 0 {
		return grpcstatus.Errorf(codes.Unavailable, "%s has no address yet", vswitch.TransportBridge)
	}
	if !slices.ContainsFunc(addresses, func(own netip.Prefix) bool { return own.Addr() == encapIP }) {
		return grpcstatus.Errorf(codes.InvalidArgument, "tunnels can't end at %s: the DPU has %v", encapIP, addresses)
	}
	return nil
}

func refusal(err error) codes.Code {
	switch {
	case errors.Is(err, ledger.ErrGeneration):
		return codes.Aborted
	case errors.Is(err, ledger.ErrOtherGroup), errors.Is(err, ledger.ErrSecondPlace), errors.Is(err, ledger.ErrHeld):
		return codes.FailedPrecondition
	case errors.Is(err, ledger.ErrTime):
		return codes.OutOfRange
	default:
		return codes.Unavailable
	}
}

// Isolate implements agentv1.AgentServer.
func (s *server) Isolate(ctx context.Context, request *agentv1.IsolateRequest) (*agentv1.Report, error) {
	if request.GetResourceUid() == "" {
		return nil, grpcstatus.Error(codes.InvalidArgument, "name the resource")
	}
	err := s.agent.keeper.Isolate(request.GetResourceUid())
	isolation, _ := s.agent.apply(ctx)
	if err := errors.Join(err, isolation); err != nil {
		return nil, grpcstatus.Errorf(codes.Unavailable, "isolation isn't certain yet: %s", words([]error{err}))
	}
	s.agent.news.announce() // unassigned ports got new generations
	return s.agent.report()
}

// assignment checks a controller's request. Open vSwitch and OVN get these texts unchanged.
func assignment(from *agentv1.Assignment) (ledger.Assignment, error) {
	for _, field := range []struct{ name, value string }{
		{"resource_uid", from.GetResourceUid()}, {"group_uid", from.GetGroupUid()}, {"logical_port", from.GetLogicalPort()},
	} {
		if field.value == "" || len(field.value) > maxText || strings.ContainsFunc(field.value, unprintable) {
			return ledger.Assignment{}, fmt.Errorf("%s is %.40q: write a name of at most %d letters", field.name, field.value,
				maxText)
		}
	}
	if err := checkSouthbound(from.GetSouthbound()); err != nil {
		return ledger.Assignment{}, err
	}
	encapIP, err := netip.ParseAddr(from.GetEncapIp())
	if err != nil || encapIP.Zone() != "" {
		return ledger.Assignment{}, fmt.Errorf("encap_ip is %.60q: write one of the DPU's addresses", from.GetEncapIp())
	}
	relayed, err := dhcpRelay(from.GetDhcpRelay())
	if err != nil {
		return ledger.Assignment{}, err
	}
	host, err := hostOf(from)
	if err != nil {
		return ledger.Assignment{}, err
	}
	return ledger.Assignment{
		Network: ledger.Network{
			Group: from.GetGroupUid(), Southbound: from.GetSouthbound(), EncapIP: encapIP.Unmap(),
			Certificate: from.GetSouthboundTls().GetCertificate(), Authorities: from.GetSouthboundTls().GetAuthorities(),
			Relay: relayed,
		},
		Resource: from.GetResourceUid(), LogicalPort: from.GetLogicalPort(), Host: host,
	}, nil
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// checkSouthbound accepts a database at an address and a port. OVSDB knows others, such as files and listening sockets.
func checkSouthbound(remote string) error {
	method, address, _ := strings.Cut(remote, ":")
	if at, err := netip.ParseAddrPort(address); method != "tcp" && method != "ssl" || err != nil || at.Port() == 0 {
		return fmt.Errorf("southbound is %.80q: write one such as tcp:172.18.0.2:16642", remote)
	}
	return nil
}
