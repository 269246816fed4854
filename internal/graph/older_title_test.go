package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// A ledger of an earlier version has no title of what was looked up. The spec is the same, what it found exists; by its name it isn't found
// now. docs: it is bound once, and again when the spec says something else.
func TestUseFound_keepsTheAnswerOfAnOlderLedger(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("red")
	var fails error
	claim := graph.UseFound("red", func(context.Context) (string, error) { return theirs.id, fails })
	for range 2 {
		f.Expect(f.round(f.owner(), claim)).To(Succeed())
	}
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("lonely").Title = "" })
	fails = &fault.Error{Class: fault.NotFound, Op: "site red", Err: errors.New("it was renamed")}
	for range 4 {
		_ = f.round(f.owner(), claim)
		f.clock.Step(2 * settle)
	}
	f.Expect(f.ledger().Entry("lonely")).To(HaveField("ID", theirs.id), "it exists, the spec is the same, and the ledger had it")
}

// The same of what an operator has entered.
func TestUseFound_keepsWhatAnOperatorHasEntered(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("red")
	claim := graph.UseFound("red", func(context.Context) (string, error) {
		return "", &fault.Error{Class: fault.NotFound, Op: "site red", Err: errors.New("it was renamed")}
	})
	_ = f.round(f.owner(), graph.Use(f.put("other").id))
	g, kind := f.graphOf(f.owner())
	w := f.want("other")
	graph.Add(g, kind, w)
	_, _ = g.Reconcile(t.Context())
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "lonely", Kind: "thing", ID: theirs.id})).To(Succeed())
	for range 4 {
		_ = f.round(f.owner(), claim)
		f.clock.Step(2 * settle)
	}
	f.Expect(f.ledger().Entry("lonely")).To(HaveField("ID", theirs.id), "it exists, and an operator has entered it")
}

// An update of the manager: what was looked up is as before, and nothing that is in use is taken for unknown meanwhile.
func TestUseFound_isReadyWithAnOlderLedger(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("red")
	claim := graph.UseFound("red", func(context.Context) (string, error) { return theirs.id, nil })
	for range 2 {
		f.Expect(f.round(f.owner(), claim)).To(Succeed())
	}
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("lonely").Title = "" })
	owner := f.owner()
	f.Expect(f.round(owner, claim)).To(Succeed())
	f.expectCondition(owner, "Ready", "True", "Ready", "")
	f.Expect(f.ledger().Entry("lonely")).To(HaveField("ID", theirs.id))
}
