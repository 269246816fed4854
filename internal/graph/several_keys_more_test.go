package graph_test

import (
	"fmt"
	"slices"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// suspend the process in its next call or write, if it is to be: another one has a round meanwhile.
func (s *story) suspend() {
	if s.wakes--; s.wakes != 0 {
		return
	}
	s.tell("the process is suspended, and another one has a round")
	dies := s.dies
	s.round()
	s.dies = dies
	s.tell("the first one goes on")
}

// happenMore lets something happen besides.
func (s *story) happenMore() {
	switch s.random.IntN(12) {
	case 0:
		s.wakes = 1 + s.random.IntN(12)
	case 1:
		s.kept = one(s, "", "a", "b")
		s.tell("kept: %q", s.kept)
	case 2:
		s.older = slices.Clone(s.entries())
	case 3:
		if l := s.ledger(); s.variant == withTags && l != nil && s.older != nil {
			s.passes(3 * settle) // the manager was stopped
			s.tell("the ledger is an older one: %+v", s.older)
			s.restored = true
			s.update(l, func(l *ledgerv1.Ledger) { l.Spec.Entries = slices.Clone(s.older) })
		}
	case 4:
		before := len(s.told)
		s.wakes = -1
		if g := s.open(s.owner()); g != nil {
			g.Plan(s.t.Context())
		}
		if len(s.told) > before {
			s.wrong("a plan changes something")
		}
	}
}

// plansRest: where nothing happens any more, and nothing is wrong, the plan says so.
func (s *story) plansRest() {
	owner := s.round()
	for _, c := range owner.Status.Conditions {
		if c.Status != "True" {
			return
		}
	}
	for _, step := range s.open(s.owner()).Plan(s.t.Context()) {
		if step.Action != graph.ActionKeep && step.Action != graph.ActionUse {
			s.wrong("it rests, and the plan says %+v", step)
		}
	}
}

// plansEnd: the plan of a deletion has all that is ours, and nothing else.
func (s *story) plansEnd() {
	var planned, ours []string
	for _, step := range s.open(s.owner()).Plan(s.t.Context()) {
		if step.Action == graph.ActionDelete {
			planned = append(planned, step.ID)
		}
	}
	for _, l := range s.alive(func(l *life) bool { return l.ours }) {
		ours = append(ours, l.id)
	}
	slices.Sort(planned)
	slices.Sort(ours)
	if fmt.Sprint(planned) != fmt.Sprint(ours) {
		s.wrong("the plan deletes %v, and ours are %v", planned, ours)
	}
}
