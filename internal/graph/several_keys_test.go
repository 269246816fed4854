package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// wanted is what the spec says of one key.
type wanted struct {
	key   string
	claim string
	name  string
	after bool // the key before it
	// lost: it isn't made again.
	lost bool
}

// story is what happens, by a seed, to an owner that has several keys of a few names, to the service, and to the user's own things of
// these names.
type story struct {
	*fixture
	variant variant
	random  *rand.Rand
	spec    []wanted
	lives   []*life
	late    []late
	// next is what becomes of the next create; hidden: the last list has hidden something.
	next   string
	hidden bool
	// dies is how many calls and writes the process still does; below 0: all of them.
	dies int
	told []string
	bad  string
	// wakes is how many calls and writes the process still does until it is suspended, while another one has a round; below 0: it isn't.
	wakes int
	// goneAfter of the kind, and what keys are kept.
	goneAfter time.Duration
	kept      string
	// older is what the ledger was. Restored: it was put back, so that only tags lead to what was made since.
	older    []ledgerv1.Entry
	restored bool
}

func newStory(t *testing.T, seed, n uint64) *story {
	s := &story{fixture: inMemory(t), variant: []variant{withTags, withoutTags, namesAreIDs}[n%3], random: rand.New(rand.NewPCG(seed, n)), dies: -1, wakes: -1}
	s.goneAfter = one(s, 0, 0, settle)
	s.write = func() error { return s.step(func() {}) }
	s.specify()
	return s
}

func (s *story) tell(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

func (s *story) wrong(format string, args ...any) {
	if s.bad == "" {
		s.bad = fmt.Sprintf(format, args...)
		s.tell("WRONG: %s", s.bad)
	}
}

func one[T any](s *story, of ...T) T { return of[s.random.IntN(len(of))] }

// step is a call or a write of the process, which may die in it.
func (s *story) step(do func()) error {
	dead := errors.New("the process is dead")
	s.suspend()
	switch {
	case s.dies == 0:
		return dead
	case s.dies > 0:
		if s.dies--; s.dies == 0 {
			if one(s, true, false) {
				do()
			}
			return dead
		}
	}
	do()
	return nil
}

func (s *story) specify() {
	keys := []string{"a", "b", "c"}
	s.random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	s.spec = nil
	for i, key := range keys[:1+s.random.IntN(3)] {
		s.spec = append(s.spec, wanted{
			key: key, claim: one(s, "Create", "CreateNamed", "CreateNamed", "UseOrCreate", "UseFound", "Use"), name: one(s, "n1", "n2"), after: i > 0 && one(s, true, false),
			lost: s.random.IntN(8) == 0,
		})
	}
	s.tell("spec %+v", s.spec)
}

func (s *story) claimed(w wanted) graph.Claim {
	switch w.claim {
	case "CreateNamed":
		return graph.CreateNamed(w.name)
	case "UseOrCreate":
		return graph.UseOrCreate(w.name)
	case "UseFound":
		return graph.UseFound(w.name, func(context.Context) (id string, err error) {
			var found []string
			for range 2 { // one list may hide one of two that have the name, and the answer would change
				err = errors.Join(err, s.step(func() {
					for _, t := range s.list(func(l *life) bool { return l.title == w.name }) {
						found = append(found, t.id)
					}
				}))
			}
			if len(found) > 0 {
				id = slices.Min(found)
			}
			if err == nil && id == "" {
				return none(s.t.Context())
			}
			return id, err
		})
	case "Use":
		for _, l := range s.lives {
			if !l.ours && l.title == w.name {
				return graph.Use(l.id)
			}
		}
		return graph.Use("id-of-none")
	}
	return graph.Create()
}

func (s *story) open(owner *bmmv1.NvidiaBMMCluster) *graph.Graph {
	k := s.service.kindOf(s.kind)
	g, err := s.engine().New(s.t.Context(), owner, []string{"any"}, k)
	if err != nil {
		return nil // the process is dead
	}
	var before []graph.Ref
	for _, w := range s.spec {
		want := s.want(w.key)
		want.Claim, want.Update, want.Condition = s.claimed(w), nil, strings.ToUpper(w.key)+"Ready"
		if w.after {
			want.After = before
		}
		if w.lost {
			want.IfLost = "make another one"
		}
		want.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) { return s.create(key) }, nil
		}
		before = []graph.Ref{graph.Add(g, k, want)}
	}
	if s.kept != "" {
		g.Keep(s.kept, "it can't be known")
	}
	return g
}

func (s *story) round() *bmmv1.NvidiaBMMCluster {
	owner := s.owner()
	if g := s.open(owner); g != nil {
		_, _ = g.Reconcile(s.t.Context())
	}
	s.dies, s.wakes = -1, -1
	s.isKnown()
	return owner
}

// entries of the ledger.
func (s *story) entries() []ledgerv1.Entry {
	if l := s.ledger(); l != nil {
		return l.Spec.Entries
	}
	return nil
}

// isKnown: the ledger leads to everything that is ours, and takes nothing of the user's for ours.
func (s *story) isKnown() {
	for _, l := range s.alive(func(*life) bool { return true }) {
		leads := slices.ContainsFunc(s.entries(), func(e ledgerv1.Entry) bool {
			attempted := e.ID == "" && e.Token != "" && e.Title == l.title && (l.title != "" || e.Key == l.tag.Key)
			return !e.Foreign && (e.ID == l.id || l.ours && (attempted || s.variant == withTags))
		})
		if leads = leads || l.ours && s.restored; leads != l.ours {
			s.wrong("%s %q, ours: %v, is in the ledger as ours: %v: %+v", l.id, l.title, l.ours, leads, s.entries())
		}
	}
}

// happen lets one thing happen, and mostly reconciles.
func (s *story) happen() {
	name := one(s, "n1", "n2")
	attempted := slices.ContainsFunc(s.entries(), func(e ledgerv1.Entry) bool {
		return e.Title == name && e.Owned() && (e.ID == "" || s.variant == namesAreIDs)
	})
	s.happenMore()
	switch s.random.IntN(10) {
	case 0, 1:
		s.specify()
	case 2:
		if !attempted || s.variant == withTags { // nothing could tell it from what a create of ours makes
			s.tell("the user makes one %q: %v", name, s.make(graph.Key{Title: name}, false, s.clock.Now()) != nil)
		}
	case 3:
		for _, l := range s.alive(func(*life) bool { return one(s, true, false) }) {
			s.tell("the user deletes %s", l.id)
			s.remove(l)
			break
		}
	case 4:
		for _, l := range s.alive(func(l *life) bool { return l.deleting }) {
			s.tell("%s couldn't be deleted", l.id)
			l.deleting = false
		}
	case 5, 6:
		s.next = one(s, "unanswered", "late", "never", "refused")
	case 7:
		s.dies = 1 + s.random.IntN(12)
	case 8, 9:
		d := one(s, poll, settle/4, settle, 3*settle)
		s.tell("%s pass", d)
		s.passes(d)
	}
	if s.random.IntN(4) > 0 {
		s.tell("round (next create %q, dies %d)", s.next, s.dies)
		s.round()
	}
}

// rests: nothing goes wrong any more. In the end nothing changes, and each key has what it asks for, or the condition says why it can't have it.
func (s *story) rests() {
	s.next, s.dies, s.wakes, s.kept = "", -1, -1, ""
	var owner *bmmv1.NvidiaBMMCluster
	before := 0
	for i := range 16 {
		s.passes(3 * settle)
		if i == 13 {
			before = len(s.told)
			s.tell("at rest")
		}
		owner = s.round()
	}
	if len(s.told) > before+1 {
		s.wrong("it doesn't come to rest")
	}
	for _, w := range s.spec {
		c := meta.FindStatusCondition(owner.Status.Conditions, strings.ToUpper(w.key)+"Ready")
		if c == nil || c.Status != "True" && !s.explains(w, c.Reason, c.Message) {
			s.wrong("%s: %+v", w.key, c)
		}
		if ours := s.alive(func(l *life) bool { return l.ours && l.tag.Key == w.key }); len(ours) > 1 {
			s.wrong("%s exists twice", w.key)
		}
	}
}

// explains reports whether a reason is true.
func (s *story) explains(w wanted, reason, message string) bool {
	named := s.alive(func(l *life) bool { return l.title == w.name })
	switch reason {
	case "Conflict":
		return len(s.alive(func(l *life) bool { return l.title == w.name && !l.ours })) > 0
	case "Ambiguous":
		return len(named) > 1
	case "Missing", "NotFound":
		return len(named) == 0 || w.claim == "Use" || !s.exists(w.key)
	case "Lost":
		return w.lost && !s.exists(w.key)
	case "ClaimChanged":
		return s.exists(w.key) || len(s.alive(func(l *life) bool { return l.ours && l.title == w.name })) > 0
	case "NameTaken":
		return slices.ContainsFunc(s.entries(), func(e ledgerv1.Entry) bool { return e.Key != w.key && e.Title == w.name && s.stays(e.Key) })
	}
	return w.after && strings.HasPrefix(message, "waits for") || reason == "Unnamed" && slices.ContainsFunc(s.spec, func(o wanted) bool {
		return (o.key != w.key || o.after) && o.claim == "UseFound" && strings.Contains(message, fmt.Sprintf("the key %q", o.key))
	})
}

// exists reports whether what the ledger has under a key exists.
func (s *story) exists(key string) bool {
	e := s.ledger().Entry(key)
	return e != nil && s.get(e.ID) != nil
}

// stays reports whether what the ledger has under a key can't be deleted: it is wanted, something comes after it, or the spec names it, or may do so:
// a lookup isn't made if what the ledger has under its key is ours.
func (s *story) stays(key string) bool {
	named := s.ledger().Entry(key).Title
	return slices.ContainsFunc(s.spec, func(w wanted) bool {
		return w.key == key || strings.HasPrefix(w.claim, "Use") && w.name == named || w.claim == "UseFound" && s.exists(w.key)
	}) ||
		slices.ContainsFunc(s.entries(), func(e ledgerv1.Entry) bool { return slices.Contains(e.After, key) })
}

// ends: the owner is deleted. Nothing of ours is left.
func (s *story) ends() {
	s.tell("the owner is deleted")
	s.spec = nil
	s.plansEnd()
	s.Expect(s.client.Delete(s.t.Context(), s.owner())).To(Succeed())
	owner, done := s.owner(), false
	for range 14 {
		owner = s.owner()
		if done, _, _ = s.open(owner).Delete(s.t.Context()); done {
			break
		}
		s.passes(3 * settle)
	}
	if !done {
		s.wrong("the deletion doesn't end: %+v %+v", owner.Status.Conditions, s.entries())
	}
	for _, l := range s.alive(func(l *life) bool { return l.ours }) {
		s.wrong("%s %q is left", l.id, l.title)
	}
}

func (s *story) tellAll() {
	for range 4 + s.random.IntN(16) {
		s.happen()
	}
	s.rests()
	s.plansRest()
	s.ends()
}

// Whatever happens to an owner whose keys have the same names, nothing is left or made twice, the user's own is untouched, and each key
// comes to what it asks for.
func TestSeveralKeys_ofTheSameNamesAreNotMixedUp(t *testing.T) {
	t.Parallel()
	duration, seed := soaktest.Options(t, 4*time.Second)
	n, failed := uint64(0), 0
	for begin := time.Now(); time.Since(begin) < duration && failed < 3; n++ {
		s := newStory(t, seed, n)
		if s.tellAll(); s.bad != "" {
			failed++
			t.Errorf("seed %d, story %d, %s:\n  %s", seed, n, s.variant, strings.Join(s.told, "\n  "))
		}
	}
	t.Logf("%d stories", n)
}
