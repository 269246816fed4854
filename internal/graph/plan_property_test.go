package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// past is what has happened to an owner, its spec and the service until a plan is asked for.
type past struct {
	*fixture
	random *rand.Rand
	theirs []*thing
	claim  graph.Claim
	told   []string
}

const (
	sharedTitle = "shared"
	pasts       = 150
)

func newPast(t *testing.T, seed, n uint64) *past {
	p := &past{fixture: inMemory(t), random: rand.New(rand.NewPCG(seed, n))}
	for range 2 {
		own, err := p.service.create(graph.Tag{})
		p.Expect(err).NotTo(HaveOccurred())
		p.theirs = append(p.theirs, own)
	}
	return p
}

// graph of the owner: net, what is below it, and lonely, whose claim changes.
func (p *past) graph() *graph.Graph {
	kind := p.service.kind()
	g, err := p.engine().New(p.t.Context(), p.owner(), []string{"any"}, kind)
	p.Expect(err).NotTo(HaveOccurred())
	net := graph.Add(g, kind, p.want("net"))
	for _, key := range p.below {
		graph.Add(g, kind, p.want(key, net))
	}
	lonely := p.want("lonely")
	lonely.Claim = p.claim
	graph.Add(g, kind, lonely)
	return g
}

func (p *past) round() {
	_, _ = p.graph().Reconcile(p.t.Context())
}

// happen lets one thing happen, at random. It may not be reconciled before the next thing happens, or the plan is asked for.
func (p *past) happen() {
	if len(p.service.things) == 0 {
		return
	}
	things := slices.Sorted(maps.Keys(p.service.things))
	one := p.service.things[things[p.random.IntN(len(things))]]
	call := []string{"create net", "create left", "create right", "create lonely", "find", "get " + one.id, "delete " + one.id}
	what := map[string]func(){
		"a call isn't answered":    func() { p.failing(call, errors.New("connection reset"), true) },
		"a call isn't made":        func() { p.failing(call, errors.New("connection refused"), false) },
		"a call is refused":        func() { p.failing(call, &fault.Error{Class: fault.Quota, Err: errors.New("nothing left")}, false) },
		"a name is taken":          func() { p.failing(call, &fault.Error{Class: fault.Conflict, Err: errors.New("taken")}, false) },
		"one is deleted":           func() { delete(p.service.things, one.id) },
		"one is changed":           func() { one.size++ },
		"the size changes":         func() { p.size = p.random.IntN(3) },
		"one can't be changed":     func() { p.stuck = map[string]error{one.id: fault.Invalidf("replace it")} },
		"what is wanted changes":   func() { p.below = [][]string{{"left"}, {"right"}, {"left", "right"}, nil}[p.random.IntN(4)] },
		"the claim becomes Create": func() { p.claim = graph.Create() },
		"the claim becomes Use":    func() { p.claim = graph.Use(p.theirs[p.random.IntN(2)].id) },
		"the claim is by name":     func() { p.claim = graph.UseOrCreate(sharedTitle) },
		"one gets the name":        func() { one.title = sharedTitle },
		"time passes":              func() { p.clock.Step(settle); p.service.finish() },
	}
	name := slices.Sorted(maps.Keys(what))[p.random.IntN(len(what))]
	p.told = append(p.told, name+" ("+one.id+")")
	what[name]()
	if p.random.IntN(3) > 0 {
		p.round()
	} else {
		p.told = append(p.told, "(not reconciled)")
	}
	p.service.before, p.service.after = nil, nil
}

func (p *past) failing(calls []string, err error, done bool) {
	call := calls[p.random.IntN(len(calls))]
	fail := func(c string) error {
		if c == call {
			return err
		}
		return nil
	}
	if done {
		p.service.after = fail
	} else {
		p.service.before = fail
	}
}

// planned are the calls that change something, and what the keys lead to, as the plan has them.
func (p *past) planned() (calls []string, uses map[string]string) {
	uses = map[string]string{}
	fails := map[string]bool{}
	for _, s := range p.graph().Plan(context.Background()) {
		// What comes after something that fails is planned for when that has been mended.
		fails[s.Key] = s.Action == graph.ActionFail || slices.ContainsFunc(s.After, func(key string) bool { return fails[key] })
		switch {
		case fails[s.Key]:
		case s.Action == graph.ActionCreate:
			calls = append(calls, "create "+s.Key)
		case s.Action == graph.ActionChange:
			calls = append(calls, "resize "+s.ID)
		case s.Action == graph.ActionDelete:
			calls = append(calls, "delete "+s.ID)
		}
		if p.service.things[s.ID] != nil && s.Action != graph.ActionDelete && s.Action != graph.ActionRelease {
			uses[s.Key] = s.ID
		}
	}
	slices.Sort(calls)
	return calls, uses
}

// done are the same as the next reconciles have them, until nothing changes any more.
func (p *past) done() (calls []string, uses map[string]string) {
	before := len(p.service.calls)
	known := maps.Clone(p.service.things)
	for range 8 {
		p.round()
		p.clock.Step(settle + 10*poll)
		p.service.finish()
	}
	for _, call := range p.service.calls[before:] {
		verb, what, _ := strings.Cut(call, " ")
		if verb == "create" || (verb == "delete" || verb == "resize") && known[what] != nil {
			calls = append(calls, call)
		}
	}
	uses = map[string]string{}
	for _, r := range ledgers.Resources(p.ledger()) {
		if r.ID != "" && known[r.ID] != nil {
			uses[r.Key] = r.ID
		}
	}
	slices.Sort(calls)
	return slices.Compact(calls), uses
}

// Whatever has happened before, a plan says what the next reconciles do.
func TestPlan_isWhatTheNextReconcilesDo(t *testing.T) {
	t.Parallel()
	_, seed := soaktest.Options(t, time.Second)
	differ := 0
	for n := range uint64(pasts) {
		p := newPast(t, seed, n)
		for range 1 + p.random.IntN(12) {
			p.happen()
		}
		p.clock.Step(2 * settle)
		p.service.finish()
		calls, uses := p.planned()
		did, led := p.done()
		if fmt.Sprint(calls) != fmt.Sprint(did) || fmt.Sprint(uses) != fmt.Sprint(led) {
			if differ++; differ <= 3 {
				t.Errorf("seed %d, past %d:\nhappened %s\nplanned  %v %v\ndone     %v %v", seed, n, strings.Join(p.told, ", "), calls, uses, did, led)
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d differ", differ, pasts)
	}
}
