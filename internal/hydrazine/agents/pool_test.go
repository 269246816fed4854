package agents

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// The pauses grow while an agent can't be reached, and are short again, but not zero, once it has reported.
func TestWatch_pausesAreShortAfterAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, called := NewWithT(t), &scripted{deaf: 8}
		ctx, cancel := context.WithCancel(t.Context())
		go (&agent{client: called}).watch(ctx, time.Hour, func(bool) {})
		time.Sleep(time.Minute) // the bubble's time
		cancel()
		synctest.Wait()
		pauses := called.pauses()
		g.Expect(len(pauses)).To(BeNumerically(">", called.deaf+5))
		g.Expect(pauses[called.deaf-1]).To(BeNumerically(">", 10*retryFirst))
		g.Expect(pauses[called.deaf:]).To(HaveEach(And(BeNumerically(">=", retryFirst), BeNumerically("<", 2*retryFirst))))
	})
}

// Hosts behind a DPU aren't reconciled whenever anything changes in its group.
func TestTake_tellsApartWhatTheDatapathHas(t *testing.T) {
	t.Parallel()
	g, a, told := NewWithT(t), &agent{err: ErrUnheard}, []bool{}
	take := func(version string, change int64, err error) []bool {
		told = nil
		report := &agentv1.Report{Version: version, Datapath: &agentv1.Datapath{GroupUid: "blue", Change: change}}
		a.take(Report{Report: report}, err, func(datapath bool) { told = append(told, datapath) })
		return told
	}
	g.Expect(take("1", 7, nil)).To(Equal([]bool{false}), "it is heard")
	g.Expect(take("1", 7, nil)).To(BeEmpty())
	g.Expect(take("1", 8, nil)).To(Equal([]bool{true}))
	g.Expect(take("2", 9, nil)).To(Equal([]bool{false}))
	g.Expect(take("2", 10, ErrUnreachable)).To(Equal([]bool{false}))
}

// scripted is an agent that first doesn't answer, and then ends each stream after one report.
type scripted struct {
	agentv1.AgentClient
	deaf int
	at   []time.Time
}

func (s *scripted) Watch(
	ctx context.Context, _ *agentv1.WatchRequest, _ ...grpc.CallOption,
) (grpc.ServerStreamingClient[agentv1.Report], error) {
	s.at = append(s.at, time.Now())
	switch {
	case len(s.at) <= s.deaf:
		return nil, errors.New("no agent is there")
	case len(s.at) > 1000: // a watch without pauses gets no further
		<-ctx.Done()
	}
	return &oneReport{}, nil
}

func (s *scripted) pauses() (all []time.Duration) {
	for i := range len(s.at) - 1 {
		all = append(all, s.at[i+1].Sub(s.at[i]))
	}
	return all
}

type oneReport struct {
	grpc.ClientStream
	said bool
}

func (r *oneReport) Recv() (*agentv1.Report, error) {
	if r.said {
		return nil, io.EOF
	}
	r.said = true
	return &agentv1.Report{}, nil
}

// A DPU that comes back after hours mustn't wait for minutes.
func TestPool_dialsAgainSoon(t *testing.T) {
	t.Parallel()
	var dialled atomic.Int32
	p := NewPool(t.Context(), Config{Port: 1, Heartbeat: time.Second, Credentials: insecure.NewCredentials(),
		Dial: func(context.Context, string) (net.Conn, error) {
			dialled.Add(1)
			return nil, errors.New("no agent is there")
		}})
	_, _ = p.Report("192.0.2.1")
	// gRPC's own pauses come to ten seconds after five attempts.
	NewWithT(t).Eventually(dialled.Load, "1m").Should(BeNumerically(">", 5))
}

// Many DPUs whose agents answer no call, or that can't be reached, leave workers of the controller to all others.
func TestTurn_slowAgentsHaveFewTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, end := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer end()
		p := NewPool(ctx, Config{Port: 1, Heartbeat: time.Second, Credentials: insecure.NewCredentials(),
			Dial: func(ctx context.Context, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		slow := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}
		for _, address := range slow {
			_, err := p.Isolate(ctx, address, &agentv1.IsolateRequest{})
			g.Expect(err).To(HaveOccurred())
		}
		var ends []func()
		for _, address := range slow[:slowCalls] {
			done, free := p.Turn(address)
			g.Expect(free).To(BeTrue(), address)
			ends = append(ends, done)
		}
		_, free := p.Turn(slow[2])
		g.Expect(free).To(BeFalse(), "two others are slow")
		for range callsAtOnce {
			_, free = p.Turn("192.0.2.9")
			g.Expect(free).To(BeTrue(), "it hasn't been slow")
		}
		_, free = p.Turn("192.0.2.9")
		g.Expect(free).To(BeFalse())
		ends[0]()
		done, free := p.Turn(slow[2])
		g.Expect(free).To(BeTrue())
		done()
		_, free = p.Turn(slow[0])
		g.Expect(free).To(BeTrue())

		time.Sleep(24 * time.Hour)
		_, free = p.Turn(slow[2])
		g.Expect(free).To(BeFalse(), "time alone makes none quick")
		p.known[slow[2]].took(time.Millisecond, status.Error(codes.Unavailable, "it can't be reached"))
		_, free = p.Turn(slow[2])
		g.Expect(free).To(BeFalse(), "that is no answer")
		p.known[slow[2]].took(time.Millisecond, nil)
		_, free = p.Turn(slow[2])
		g.Expect(free).To(BeTrue(), "it has answered quickly")
	})
}

// One DPU whose agent never answers has many hosts, each of which wants to call it. Another one's is slow, and answers: its hosts have
// leases to renew.
func TestTurn_ofOneSlowAgentIsNotAnothers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, p := NewWithT(t), NewPool(t.Context(), Config{Port: 1, Heartbeat: time.Second, Credentials: insecure.NewCredentials()})
		hung, works := "192.0.2.1", "192.0.2.2"
		for _, address := range []string{hung, works} {
			p.known[address] = &agent{calls: make(chan struct{}, callsAtOnce), slow: true}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		call := func(address string, takes time.Duration) bool {
			done, free := p.Turn(address)
			if free {
				time.Sleep(takes)
				done()
			}
			return free
		}
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond)
				for ctx.Err() == nil {
					call(hung, callTimeout)
					time.Sleep(time.Second)
				}
			})
		}
		longest, since := time.Duration(0), time.Now()
		for ctx.Err() == nil {
			if call(works, 1200*time.Millisecond) {
				longest, since = max(longest, time.Since(since)), time.Now()
			}
			time.Sleep(time.Second)
		}
		all.Wait()
		g.Expect(max(longest, time.Since(since))).To(BeNumerically("<", callTimeout))
	})
}

// Each of many slow agents has its turn, and one that isn't asked for any more is in no other one's way.
func TestTurn_slowAgentsHaveThemOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, s := NewWithT(t), &turns{most: 1, calling: map[string]bool{}}
		take := func(address string) (leave func()) {
			leave, _ = s.take(address)
			return leave
		}
		leave := take("a")
		for _, address := range []string{"a", "b", "c", "d"} {
			g.Expect(take(address)).To(BeNil(), address)
		}
		leave()
		for _, address := range []string{"a", "d", "c"} {
			g.Expect(take(address)).To(BeNil(), "b was there before %s", address)
		}
		leave = take("b")
		g.Expect(leave).NotTo(BeNil())
		leave()
		g.Expect(take("b")).To(BeNil(), "now the others")
		time.Sleep(turnAsked + time.Second)
		leave = take("d")
		g.Expect(leave).NotTo(BeNil(), "c wasn't asked for any more")
		leave()
		g.Expect(take("c")).NotTo(BeNil())
	})
}
