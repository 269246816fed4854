// Package agents calls the agents on the DPUs. It watches each agent that has callers, so that its report is known when it is
// needed, and notifies of changes.
package agents

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"sigs.k8s.io/controller-runtime/pkg/event"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

const (
	// callTimeout bounds a call that changes something. An agent that reports answers within milliseconds.
	callTimeout = 10 * time.Second
	// connectTimeout bounds an attempt to connect; retryFirst and retryLast are the shortest and the longest pause after one.
	// gRPC's own pauses become two minutes: a DPU that has come back would wait that long.
	connectTimeout        = 5 * time.Second
	retryFirst, retryLast = 100 * time.Millisecond, 5 * time.Second
	// messageLimit is far larger than a report of any DPU.
	messageLimit = 256 << 10
	// bufferSize of a connection, in bytes: there are thousands of them, each with little traffic.
	bufferSize = 4 << 10
	// callsAtOnce limits the concurrent calls to one agent. One that doesn't answer blocks no more of the controller's workers, however
	// many hosts it reports behind its DPU.
	callsAtOnce = 2
	// slowCall is far longer than a call to a healthy agent takes. Agents that took so long share slowCalls until each has answered
	// quickly, so that they leave workers to all others, however many they are.
	slowCall  = time.Second
	slowCalls = 2
	// changesBuffer is how many changes may wait for the controller.
	changesBuffer = 1024
)

// ErrUnreachable means that an agent doesn't report now. Its last report may be wrong by now.
var ErrUnreachable = errors.New("the agent is unreachable")

// ErrUnheard means that an agent hasn't reported yet, and may still do so. Within three heartbeats it reports, or counts as
// unreachable.
var ErrUnheard = errors.New("the agent hasn't reported yet")

// Config of a pool.
type Config struct {
	// Port that agents listen on.
	Port uint16
	// Heartbeat is how often an agent reports without a change. One that is silent for three times as long is lost.
	Heartbeat time.Duration
	// Credentials identify the controller, and say which agents it trusts.
	Credentials credentials.TransportCredentials
	// Dial connects to an agent's address and port. Without it that is TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Change of what is known of an agent.
type Change struct {
	Address string
	// Datapath means that all else is as before: OVN's last change has come to the DPU's datapath, as each does.
	Datapath bool
}

// Pool has a connection to each agent that has callers.
type Pool struct {
	config  Config
	life    context.Context // of all connections
	changes chan event.TypedGenericEvent[Change]

	slow *turns // of calls to slow agents

	mutex sync.Mutex
	known map[string]*agent
}

// NewPool returns a pool whose connections end with ctx.
func NewPool(ctx context.Context, config Config) *Pool {
	return &Pool{
		config: config, life: ctx, known: map[string]*agent{}, slow: &turns{most: slowCalls, calling: map[string]bool{}},
		changes: make(chan event.TypedGenericEvent[Change], changesBuffer),
	}
}

// Changes are of the agents whose report has changed, or that don't report any more.
func (p *Pool) Changes() <-chan event.TypedGenericEvent[Change] { return p.changes }

// Report is the last report of the agent of a DPU. It doesn't wait: the first call returns ErrUnheard, and a change
// enqueues the caller.
func (p *Pool) Report(address string) (Report, error) {
	a, err := p.agent(address)
	if err != nil {
		return Report{}, err
	}
	return a.latest()
}

// Known is the last report of the agent of a DPU, if it is watched and usable. It doesn't start a watch.
func (p *Pool) Known(address string) (Report, bool) {
	p.mutex.Lock()
	a := p.known[address]
	p.mutex.Unlock()
	if a == nil {
		return Report{}, false
	}
	report, err := a.latest()
	return report, err == nil
}

// Gateway returns the addresses of the agents that report an address as their gateway.
func (p *Pool) Gateway(ip netip.Addr) (by []string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for address, a := range p.known {
		if report, err := a.latest(); err == nil && report.IsGateway(ip) {
			by = append(by, address)
		}
	}
	return by
}

// Turn to call an agent, until done is called. There is none while the limit of concurrent calls is reached.
func (p *Pool) Turn(address string) (done func(), free bool) {
	a, err := p.agent(address)
	if err != nil {
		return nil, false
	}
	select {
	case a.calls <- struct{}{}:
	default:
		return nil, false
	}
	leave := func() {}
	if a.isSlow() {
		if leave, free = p.slow.take(address); !free {
			<-a.calls
			return nil, false
		}
	}
	return func() { leave(); <-a.calls }, true
}

// Attach puts a host's port on a network, or renews its lease. See agentv1.AgentClient.
func (p *Pool) Attach(ctx context.Context, address string, request *agentv1.AttachRequest) (*agentv1.Report, error) {
	return p.call(ctx, address, func(ctx context.Context, c agentv1.AgentClient) (*agentv1.Report, error) {
		return c.Attach(ctx, request)
	})
}

// Isolate removes a host from its network. See agentv1.AgentClient.
func (p *Pool) Isolate(ctx context.Context, address string, request *agentv1.IsolateRequest) (*agentv1.Report, error) {
	return p.call(ctx, address, func(ctx context.Context, c agentv1.AgentClient) (*agentv1.Report, error) {
		return c.Isolate(ctx, request)
	})
}

func (p *Pool) call(
	ctx context.Context, address string, do func(context.Context, agentv1.AgentClient) (*agentv1.Report, error),
) (*agentv1.Report, error) {
	a, err := p.agent(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began := time.Now()
	report, err := do(ctx, a.client)
	a.took(time.Since(began), err)
	if err == nil {
		err = check(report)
	}
	if err != nil {
		return nil, fmt.Errorf("agent at %s: %w", address, err)
	}
	return report, nil
}

// Keep closes the connections to all agents except those that are still wanted.
func (p *Pool) Keep(wanted func(address string) bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for address, a := range p.known {
		if !wanted(address) {
			a.close()
			delete(p.known, address)
		}
	}
}

// agent at an address, which is watched from now on.
func (p *Pool) agent(address string) (*agent, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if a, ok := p.known[address]; ok {
		return a, nil
	}
	target := net.JoinHostPort(address, strconv.Itoa(int(p.config.Port)))
	dial := p.config.Dial
	if dial == nil {
		dial = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	connection, err := grpc.NewClient("passthrough:///"+target, grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(p.config.Credentials),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageLimit)),
		grpc.WithReadBufferSize(bufferSize), grpc.WithWriteBufferSize(bufferSize),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithUnaryInterceptor(observe), grpc.WithStreamInterceptor(observeStream),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryFirst, Multiplier: 2, Jitter: 0.2, MaxDelay: retryLast},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: p.config.Heartbeat}),
	)
	if err != nil {
		return nil, fmt.Errorf("agent at %s: %w", address, err)
	}
	life, end := context.WithCancel(p.life)
	a := &agent{client: agentv1.NewAgentClient(connection), end: end, err: ErrUnheard, calls: make(chan struct{}, callsAtOnce)}
	p.known[address] = a
	go func() {
		a.watch(life, p.config.Heartbeat, func(datapath bool) { p.tell(life, Change{address, datapath}) })
		_ = connection.Close()
	}()
	return a, nil
}

func (p *Pool) tell(ctx context.Context, change Change) {
	select {
	case p.changes <- event.TypedGenericEvent[Change]{Object: change}:
	case <-ctx.Done():
	}
}
