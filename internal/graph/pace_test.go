package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Two services share a condition. At one something has failed, the other is down, with another text each time.
func TestPace_errorsOfAnotherTextBesideAFailure(t *testing.T) {
	t.Parallel()
	count := func(text func(n int) string) int {
		s := newSix(t)
		s.engine.Poll = 30 * time.Second
		n := 0
		s.services[0].before = func(string) error {
			n++
			return &fault.Error{Class: fault.Transient, Op: "find", Err: errors.New(text(n))}
		}
		s.services[1].before = func(call string) error {
			if strings.HasPrefix(call, "create") {
				return &fault.Error{Class: fault.Invalid, Op: "create", Err: errors.New("no such size")}
			}
			return nil
		}
		s.services[2].slow = true
		rounds := 0
		for began := s.clock.Now(); s.clock.Since(began) < 30*time.Minute; rounds++ {
			g, err := s.engine.New(t.Context(), s.owner(), []string{"any"}, s.kinds...)
			s.Expect(err).NotTo(HaveOccurred())
			for n, toy := range s.services[:3] {
				graph.Add(g, s.kinds[n].(*graph.Kind[thing]), graph.Want[thing]{
					Key: fmt.Sprintf("net/%d", n), Condition: "NetworksReady",
					Create: func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
						return func(context.Context) (*thing, error) {
							return toy.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
						}, nil
					},
				})
			}
			result, err := g.Reconcile(t.Context())
			wait := result.RequeueAfter
			if err != nil {
				wait = 5 * time.Minute
			}
			s.clock.Step(wait)
		}
		return rounds
	}
	same := count(func(int) string { return "connection reset by peer" })
	differs := count(func(n int) string { return fmt.Sprintf("read tcp 10.0.0.7:%d: connection reset by peer", 40000+n) })
	t.Logf("%d reconciles in half an hour with the same text, %d with another port each time", same, differs)
	if differs > 2*same {
		t.Errorf("%d reconciles instead of %d", differs, same)
	}
}

// One service is down for hours, nothing is in progress at the others. Each time another owner comes, it is forgotten since
// when.
func TestPace_anOwnerThatIsLookedAtSlowlyIsNotForgotten(t *testing.T) {
	t.Parallel()
	count := func(others bool) int {
		s := newSix(t)
		s.engine.Poll = 30 * time.Second
		for _, toy := range s.services {
			toy.slow = false
		}
		s.services[0].before = func(string) error {
			return &fault.Error{Class: fault.Transient, Op: "find", Err: errors.New("refused")}
		}
		rounds := 0
		for began := s.clock.Now(); s.clock.Since(began) < 10*time.Hour; rounds++ {
			result, err := s.graph().Reconcile(t.Context())
			s.Expect(err).NotTo(HaveOccurred())
			s.clock.Step(result.RequeueAfter)
			if others {
				other := s.owner()
				other.Name = fmt.Sprintf("other-%d", rounds)
				other.SetUID(types.UID(other.Name))
				g, err := s.engine.New(t.Context(), other, []string{"any"}, s.kinds...)
				s.Expect(err).NotTo(HaveOccurred())
				g.Gate("Booted", func() phases.Phase { return phases.Waiting("boots") })
				_, _ = g.Reconcile(t.Context())
			}
		}
		return rounds
	}
	alone, beside := count(false), count(true)
	t.Logf("%d looks in ten hours alone, %d beside owners that come", alone, beside)
	if beside > alone*3/2 {
		t.Errorf("%d looks instead of %d", beside, alone)
	}
}

// A read inside Kubernetes fails once; the only outside service is healthy. When is it retried?
func TestPace_aGateThatFailsIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	engine := f.engine()
	engine.Poll = 30 * time.Second
	kind := f.service.kind()
	g, err := engine.New(t.Context(), f.owner(), []string{"any"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	graph.Add(g, kind, f.want("net"))
	gate := g.Gate("BootstrapDataReady", func() phases.Phase {
		return phases.Of(&fault.Error{Class: fault.Transient, Op: "read the Secret", Err: errors.New("etcd leader changed")})
	})
	graph.Add(g, kind, f.want("lonely", gate))
	result, err := g.Reconcile(t.Context())
	t.Log(result, err)
	f.Expect(err != nil || result.RequeueAfter <= 2*time.Second).To(BeTrue(), "it is looked at again after %s", result.RequeueAfter)
}

// The same of what is in the way or refused: a service's message has the ID of the request in it.
func TestPace_refusalsOfAnotherTextEachTime(t *testing.T) {
	t.Parallel()
	for _, class := range []fault.Class{fault.Busy, fault.Credentials} {
		count := func(text func(n int) string) int {
			s := newSix(t)
			s.engine.Poll = 30 * time.Second
			n := 0
			s.services[0].before = func(string) error {
				n++
				return &fault.Error{Class: class, Op: "find", Err: errors.New(text(n))}
			}
			rounds := 0
			for began := s.clock.Now(); s.clock.Since(began) < 30*time.Minute; rounds++ {
				result, err := s.graph().Reconcile(t.Context())
				s.Expect(err).NotTo(HaveOccurred())
				s.clock.Step(result.RequeueAfter)
			}
			return rounds
		}
		same := count(func(int) string { return "request" })
		differs := count(func(n int) string { return fmt.Sprintf("request %d", n) })
		t.Logf("%s: %d reconciles in half an hour with the same text, %d with another one each time", class, same, differs)
		if differs > 2*same {
			t.Errorf("%s: %d reconciles instead of %d", class, differs, same)
		}
	}
}
