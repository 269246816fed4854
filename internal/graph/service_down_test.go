package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// One service is down, and status shows something at it that the ledger lacks: what was deleted last, before the status was written.
func TestServices_areAskedWhileOneThatTheStatusNamesIsDown(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	up, down := newService(), newService()
	open := func(owner graph.Owner) (*graph.Graph, *graph.Kind[thing], *graph.Kind[thing], error) {
		a, b := up.kind(), down.kind()
		a.Name, a.Service = "other", &graph.Service{Endpoint: "up"}
		b.Name, b.Service = "thing", &graph.Service{Endpoint: "down"}
		g, err := f.engine().New(t.Context(), owner, []string{"any"}, a, b)
		return g, a, b, err
	}
	want := func(s *service, key string) graph.Want[thing] {
		w := f.want(key)
		w.Update = nil
		w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				return s.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
			}, nil
		}
		return w
	}
	g, a, b, err := open(f.owner())
	f.Expect(err).NotTo(HaveOccurred())
	graph.Add(g, a, want(up, "a"))
	graph.Add(g, b, want(down, "b"))
	_, err = g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	// b leaves the spec, is deleted, the ledger forgets it; the status that shows it still couldn't be written.
	for range 3 {
		g, a, _, err = open(showing{f.owner(), []string{"id-1"}})
		f.Expect(err).NotTo(HaveOccurred())
		graph.Add(g, a, want(up, "a"))
		_, _ = g.Reconcile(t.Context())
		down.finish()
	}
	f.Expect(f.ledger().Entry("b")).To(BeNil())
	down.before = func(string) error {
		return &fault.Error{Class: fault.Transient, Op: "connect", Err: errors.New("refused")}
	}
	// names: "id-1" is at "down"; at "up" it is another one with the same ID, so rename it
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("a").ID = "id-9" })
	up.things["id-9"] = up.things["id-1"]
	up.things["id-9"].id = "id-9"
	delete(up.things, "id-1")
	for range 3 {
		g, _, _, err = open(showing{f.owner(), []string{"id-1"}})
		if err != nil {
			continue
		}
		_, _, _ = g.Delete(t.Context())
		up.finish()
	}
	f.Expect(up.keys()).To(BeEmpty(), "the service that is up isn't asked, because: %v", err)
}

// The text of an error differs each time, as that of a reset connection does: it has the local port.
func TestServices_areNotAskedMoreOftenForAnErrorOfAnotherText(t *testing.T) {
	t.Parallel()
	count := func(text func(n int) string) int {
		s := newSix(t)
		s.engine.Poll = 30 * time.Second
		n := 0
		s.services[0].before = func(string) error {
			n++
			return &fault.Error{Class: fault.Transient, Op: "find", Err: errors.New(text(n))}
		}
		// what is made at the others takes half an hour
		rounds := 0
		for began := s.clock.Now(); s.clock.Since(began) < 30*time.Minute; rounds++ {
			result, err := s.graph().Reconcile(t.Context())
			wait := result.RequeueAfter
			if err != nil {
				wait = 5 * time.Minute
			}
			s.clock.Step(wait)
		}
		return rounds
	}
	same := count(func(int) string { return "connection reset by peer" })
	differs := count(func(n int) string {
		return fmt.Sprintf("read tcp 10.0.0.7:%d->192.0.2.1:443: read: connection reset by peer", 40000+n)
	})
	t.Logf("%d reconciles in half an hour with the same text, %d with another port each time", same, differs)
	if differs > 2*same {
		t.Errorf("%d reconciles instead of %d", differs, same)
	}
}

// A service that takes longer than the engine's settle time for a create, and has no settle time of its own.
func TestService_settlesAfterItsCreateTimeout(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	kind := f.service.kind()
	kind.Service = &graph.Service{Endpoint: "slow", CreateTimeout: 10 * time.Minute} // Settle is the engine's: one minute
	var late []graph.Tag
	run := func(killed bool) {
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		w := f.want("lonely")
		w.Update = nil
		w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			tag := graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token}
			return func(context.Context) (*thing, error) {
				if killed {
					late = append(late, tag) // the service is at it for five minutes
					return nil, errors.New("killed")
				}
				return f.service.create(tag)
			}, nil
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
	}
	run(true)
	f.clock.Step(2 * time.Minute)
	run(false)
	f.clock.Step(3 * time.Minute)
	_, _ = f.service.create(late[0])
	run(false)
	f.Expect(f.service.keys()).To(HaveLen(1), "one is left")
}

// Nothing is in progress at the service that is up, but something there waits for its ten poll intervals: a quota.
func TestServices_areAskedAsOftenAsEverWhileAnotherIsDown(t *testing.T) {
	t.Parallel()
	looks := func(down bool) int {
		s := newSix(t)
		s.engine.Poll = 30 * time.Second
		if down {
			s.services[0].before = func(string) error {
				return &fault.Error{Class: fault.Transient, Op: "find", Err: errors.New("refused")}
			}
		}
		for _, toy := range s.services[1:] {
			toy.before = func(call string) error {
				if strings.HasPrefix(call, "create") {
					return &fault.Error{Class: fault.Quota, Err: errors.New("nothing left")}
				}
				return nil
			}
		}
		for _, toy := range s.services {
			toy.slow = false
		}
		backoff := 5 * time.Millisecond
		for began := s.clock.Now(); s.clock.Since(began) < 4*time.Hour; {
			result, err := s.graph().Reconcile(t.Context())
			wait := result.RequeueAfter
			if err != nil {
				wait, backoff = backoff, min(2*backoff, 1000*time.Second)
			}
			s.clock.Step(wait)
		}
		return s.services[1].called("create lower1")
	}
	up, down := looks(false), looks(true)
	t.Logf("in four hours it is tried %d times with all up, %d times with one down", up, down)
	if down*3 < up*2 {
		t.Errorf("%d instead of %d", down, up)
	}
}

// The answer to a create is lost, and its service is down for an hour after that.
func TestService_isDownBetweenACreateAndItsAnswer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*graph.Kind[thing]){
		"with tags": func(*graph.Kind[thing]) {}, "without": untagged,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.service.after = func(string) error { return errors.New("connection reset") }
			_ = f.round(f.owner(), graph.Create(), change)
			f.service.before = func(string) error { return errors.New("connection refused") }
			for range 60 {
				f.clock.Step(time.Minute)
				_ = f.round(f.owner(), graph.Create(), change)
			}
			f.service.before, f.service.after = nil, nil
			f.Expect(f.round(f.owner(), graph.Create(), change)).To(Succeed())
			f.Expect(f.service.called("create lonely")).To(Equal(1))
			f.Expect(f.ledger().Entry("lonely")).To(And(HaveField("State", ledgerv1.Bound), HaveField("ID", "id-1")))
		})
	}
}

// A list that lacks what there is, once, makes no second one of an attempt whose answer was lost, and forgets none.
func TestFind_thatIsWrongOnce(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"wanted": false, "deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			lost := errors.New("connection reset")
			f.service.after = func(string) error { return lost }
			_ = f.round(f.owner(), graph.Create())
			f.service.after = nil
			f.clock.Step(2 * settle)
			wrong := true
			empty := func(k *graph.Kind[thing]) {
				find := k.Find
				k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
					found, err := find(ctx, key)
					if wrong {
						wrong, found = false, nil
					}
					return found, err
				}
			}
			if deleted {
				f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
				g, _ := f.graphOf(f.owner(), empty)
				_, _, _ = g.Delete(t.Context())
				f.service.finish()
				f.Expect(f.service.keys()).To(BeEmpty())
				return
			}
			f.Expect(f.round(f.owner(), graph.Create(), empty)).To(Succeed())
			f.Expect(f.service.called("create lonely")).To(Equal(1))
		})
	}
}
