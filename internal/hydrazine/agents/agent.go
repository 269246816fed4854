package agents

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/util/wait"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/ownip"
)

// keepaliveTime is the shortest that servers accept by default.
const keepaliveTime = 5 * time.Minute

// agent is a watched agent.
type agent struct {
	client agentv1.AgentClient
	end    context.CancelFunc
	calls  chan struct{} // those in flight

	vswitchd run // of listen alone

	mutex  sync.Mutex
	report Report // of nothing while err isn't nil
	err    error
	slow   bool // a call took long, and none was answered quickly since
}

// took records how long a call has taken. An agent that can't be reached, or answers too late, hasn't answered.
func (a *agent) took(d time.Duration, err error) {
	code := status.Code(err)
	answered := code != codes.Unavailable && code != codes.DeadlineExceeded && code != codes.Canceled
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.slow = d >= slowCall || a.slow && !answered
}

func (a *agent) isSlow() bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.slow
}

// Report of an agent.
type Report struct {
	*agentv1.Report
	// Received is when, by the clock of this process.
	Received time.Time
	// AsOf is when, by the agent's clock: decisions on this report quote it.
	AsOf *timestamppb.Timestamp
	// SwitchSince is when ovs-vswitchd was started, by the clock of this process. It is the same in all reports of one run.
	SwitchSince time.Time
	// certified are the addresses in the agent's certificate; there is none in plaintext.
	certified []netip.Addr
	plaintext bool
}

// Addresses are the DPU's own, sorted: those in the agent's certificate. What it merely reports may be wrong, or maliciously make
// an address of another machine unreachable for all hosts. In plaintext, for trials, its report has to do.
func (r Report) Addresses() []netip.Addr {
	if !r.plaintext {
		return r.certified
	}
	return r.said()
}

// IsGateway reports whether an address is the gateway of any of a DPU's routes.
func (r Report) IsGateway(ip netip.Addr) bool {
	return slices.ContainsFunc(slices.Concat(r.GetUplink().GetGateways(), r.GetUplink().GetNextHops()), func(text string) bool {
		a, err := netip.ParseAddr(text)
		return err == nil && a == ip
	})
}

// Unproven are the addresses that an agent says are its DPU's own, and that aren't in its certificate.
func (r Report) Unproven() []netip.Addr {
	proven := r.Addresses()
	return slices.DeleteFunc(r.said(), func(a netip.Addr) bool { return slices.Contains(proven, a) })
}

// said are the addresses of all interfaces.
func (r Report) said() (all []netip.Addr) {
	for _, text := range r.GetUplink().GetAddresses() {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			all = append(all, prefix.Addr())
		}
	}
	for _, text := range r.GetUplink().GetOtherAddresses() {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, a)
		}
	}
	return ownip.Callable(all)
}

// received is a report without its time, so that it equals a later one with the same content. It came by a stream with this
// context.
func received(ctx context.Context, r *agentv1.Report) Report {
	asOf := r.GetTime()
	r.Time = nil
	report := Report{Report: r, Received: time.Now(), AsOf: asOf}
	from, _ := peer.FromContext(ctx)
	info, encrypted := credentials.TLSInfo{}, false
	if from != nil {
		info, encrypted = from.AuthInfo.(credentials.TLSInfo)
	}
	if report.plaintext = !encrypted; encrypted {
		for _, ip := range info.State.PeerCertificates[0].IPAddresses {
			if a, ok := netip.AddrFromSlice(ip); ok {
				report.certified = append(report.certified, a)
			}
		}
		report.certified = ownip.Callable(report.certified)
	}
	return report
}

func (a *agent) close() { a.end() }

func (a *agent) latest() (Report, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.report, a.err
}

// watch until ctx ends. It calls tell when the report or the reason for having none changes, with whether only the datapath's change does.
func (a *agent) watch(ctx context.Context, heartbeat time.Duration, tell func(datapath bool)) {
	first := wait.Backoff{Duration: retryFirst, Factor: 2, Jitter: 0.2, Steps: 6, Cap: retryLast}
	for backoff := first; ctx.Err() == nil; {
		heard, err := a.listen(ctx, heartbeat, tell)
		if ctx.Err() != nil {
			return
		}
		a.take(Report{}, fmt.Errorf("%w: %w", ErrUnreachable, err), tell)
		if heard {
			backoff = first
		}
		select {
		case <-time.After(backoff.Step()):
		case <-ctx.Done():
		}
	}
}

// listen to one stream of reports until it ends, and say whether there was one.
func (a *agent) listen(ctx context.Context, heartbeat time.Duration, tell func(datapath bool)) (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(3*heartbeat, func() { cancel(fmt.Errorf("it has been silent for %s", 3*heartbeat)) })
	defer silence.Stop()
	stream, err := a.client.Watch(ctx, &agentv1.WatchRequest{Heartbeat: durationpb.New(heartbeat)})
	for err == nil {
		var report *agentv1.Report
		if report, err = stream.Recv(); err != nil {
			break
		}
		heard = true
		silence.Reset(3 * heartbeat)
		if err := check(report); err != nil {
			a.take(Report{}, err, tell)
		} else {
			now := received(stream.Context(), report)
			a.vswitchd.note(&now)
			a.take(now, nil, tell)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return heard, cause
	}
	return heard, reason(err)
}

// reason is an error whose text stays the same as long as it fails for the same reason: gRPC's has port numbers, which
// differ each time.
func reason(err error) error {
	said := strings.ReplaceAll(strings.TrimSuffix(status.Convert(err).Message(), `"`), `\"`, `"`)
	if _, why, ok := strings.Cut(said, "remote error: tls: "); ok {
		return errors.New("it refuses this controller's certificate: " + why)
	}
	if _, why, ok := strings.Cut(said, "tls: "); ok {
		return errors.New("tls: " + why)
	}
	return errors.New(status.Code(err).String())
}

func (a *agent) take(report Report, err error, tell func(datapath bool)) {
	a.mutex.Lock()
	before, failed := a.report.Report, a.err
	a.report, a.err = report, err
	a.mutex.Unlock()
	switch same := text(failed) == text(err); {
	case same && proto.Equal(before, report.Report):
	case same && proto.Equal(besideDatapath(before), besideDatapath(report.Report)):
		tell(true)
	default:
		tell(false)
	}
}

// besideDatapath is all else that an agent reports.
func besideDatapath(r *agentv1.Report) *agentv1.Report {
	r = proto.CloneOf(r)
	if r != nil {
		r.Datapath = nil
	}
	return r
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
