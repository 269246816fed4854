package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// six services, at each of which one thing comes after another one. Each takes a while to be made.
type six struct {
	*fixture
	engine   *graph.Engine
	services []*service
	kinds    []graph.AnyKind
	// since is when things were first seen being made.
	since map[*thing]time.Time
}

const takesToMake = 20 * time.Second

func newSix(t *testing.T) *six {
	s := &six{fixture: inMemory(t), since: map[*thing]time.Time{}}
	s.engine = s.fixture.engine()
	for n := range 6 {
		toy := newService()
		toy.slow = true
		kind := toy.kind()
		kind.Name, kind.Service = fmt.Sprintf("thing%d", n), &graph.Service{Endpoint: fmt.Sprintf("service%d", n)}
		s.services, s.kinds = append(s.services, toy), append(s.kinds, kind)
	}
	return s
}

func (s *six) graph() *graph.Graph {
	g, err := s.engine.New(s.t.Context(), s.owner(), []string{"any"}, s.kinds...)
	s.Expect(err).NotTo(HaveOccurred())
	for n, toy := range s.services {
		create := func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				return toy.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
			}, nil
		}
		want := graph.Want[thing]{Key: fmt.Sprintf("lower%d", n), Condition: fmt.Sprintf("Lower%dReady", n), Create: create}
		lower := graph.Add(g, s.kinds[n].(*graph.Kind[thing]), want)
		want.Key, want.Condition, want.After = fmt.Sprintf("upper%d", n), fmt.Sprintf("Upper%dReady", n), []graph.Ref{lower}
		graph.Add(g, s.kinds[n].(*graph.Kind[thing]), want)
	}
	return g
}

// made is after how long everything is made at all services but the first, as a controller would continue: with backoff after an
// error.
func (s *six) made() time.Duration {
	began, queue := s.clock.Now(), workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second)
	for range 200 {
		result, err := s.graph().Reconcile(s.t.Context())
		if s.ready() {
			return s.clock.Since(began)
		}
		wait := result.RequeueAfter
		if err != nil {
			wait = queue.When("owner")
		} else {
			queue.Forget("owner")
		}
		s.clock.Step(wait)
		s.finish()
	}
	s.t.Fatal("they are never made")
	return 0
}

func (s *six) finish() {
	for _, toy := range s.services {
		for _, t := range toy.things {
			if s.since[t].IsZero() {
				s.since[t] = s.clock.Now()
			}
			t.creating = s.clock.Since(s.since[t]) < takesToMake
		}
	}
}

func (s *six) ready() bool {
	for _, toy := range s.services[1:] {
		if len(toy.things) != 2 {
			return false
		}
		for _, t := range toy.things {
			if t.creating {
				return false
			}
		}
	}
	return true
}

// What the five others make is made in the time that it takes with all six up. Intervals have a jitter of a fifth.
func TestService_thatIsDownHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	up := newSix(t).made()
	for name, err := range map[string]error{
		"connection refused":  &fault.Error{Class: fault.Transient, Op: "connect", Err: errors.New("refused")},
		"no answer":           &fault.Error{Class: fault.Transient, Op: "connect", Err: context.DeadlineExceeded},
		"refused credentials": &fault.Error{Class: fault.Credentials, Op: "log in", Err: errors.New("401")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSix(t)
			s.services[0].before = func(string) error { return err }
			down := s.made()
			t.Logf("%s with all six up, %s with one down", up, down)
			s.Expect(down).To(BeNumerically("<", up*5/4))
			s.Expect(s.services[0].called("find")+s.services[0].called("create lower0")).To(BeNumerically(">", 1), "it is asked again")
		})
	}
}
