package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/decide"
)

// behind is a kind whose lists show what is gone, too.
func (f *fixture) behind(gone ...thing) func(*graph.Kind[thing]) {
	return func(k *graph.Kind[thing]) {
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			all, err := find(ctx, key)
			return append(gone, all...), err
		}
	}
}

// Rule 3: a create wasn't answered, and a list still shows the one before, which is gone. That doesn't end the attempt.
func TestListBehind_doesNotEndAnAttempt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	gone := *f.service.things["id-1"]
	delete(f.service.things, gone.id)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.service.failing("create lonely", errors.New("connection reset"))
	_ = f.round(f.owner(), graph.Create())
	_ = f.round(f.owner(), graph.Create(), f.behind(gone))
	f.Expect(f.ledger().Entry("lonely")).To(HaveField("State", ledgerv1.Pending))
	f.Expect(f.ledger().Entry("lonely").ID).To(BeEmpty())
}

// Which of two stays is decided among those that exist.
func TestListBehind_doesNotDeleteTheOneThatExists(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create lonely")
	_ = f.round(f.owner(), graph.Create())
	f.service.after = nil
	gone := *f.service.things["id-1"]
	gone.id = "id-0" // it comes first
	f.Expect(f.round(f.owner(), graph.Create(), f.behind(gone))).To(Succeed())
	f.Expect(f.ledger().Entry("lonely").ID).To(Equal("id-1"))
	f.Expect(f.service.things["id-1"].deleting).To(BeFalse())
}

// A deletion ends, although a list shows two of ours that are gone, of two keys, and the ledger has neither.
func TestListBehind_letsADeletionEnd(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	one := *f.service.things["id-1"]
	one.id, one.tag.Key = "id-8", "one"
	other := one
	other.id, other.tag.Key = "id-9", "other"
	f.Expect(f.deleteOwner(f.behind(one, other))).To(BeTrue())
}

// A list still shows the first of two as ready, which is being deleted. The other one stays.
func TestListBehind_doesNotKeepTheOneThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create lonely")
	_ = f.round(f.owner(), graph.Create())
	f.service.after = nil
	double := *f.service.things["id-1"]
	double.id, double.deleting = "id-0", true
	f.service.things["id-0"] = &double
	late := func(k *graph.Kind[thing]) {
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			all, err := find(ctx, key)
			for i := range all {
				all[i].deleting = false
			}
			return all, err
		}
	}
	f.Expect(f.round(f.owner(), graph.Create(), late)).To(Succeed())
	f.Expect(f.service.things["id-1"].deleting).To(BeFalse())
	f.Expect(f.ledger().Entry("lonely").ID).To(Equal("id-1"))
}

// A list shows very many that are gone: one after the other is read, in a plan, too.
func TestListBehind_byVeryMany(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	gone := make([]thing, 2*decide.MaxSteps)
	for i := range gone {
		gone[i] = *f.service.things["id-1"]
		gone[i].id = fmt.Sprint("id-0-", i) // it comes first
	}
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	g, kind := f.graphOf(f.owner(), f.behind(gone...))
	graph.Add(g, kind, f.want("lonely"))
	f.Expect(g.Plan(t.Context())).To(ConsistOf(HaveField("ID", "id-1")))
	f.Expect(f.round(f.owner(), graph.Create(), f.behind(gone...))).To(Succeed())
	f.Expect(f.ledger().Entry("lonely").ID).To(Equal("id-1"))
}

// A plan goes on after an attempt that has made none of them.
func TestListBehind_byVeryManyOfAnAttempt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	own := f.put("theirs")
	f.service.failing("create lonely", errors.New("connection reset"))
	_ = f.round(f.owner(), graph.Create())
	f.service.before = nil
	gone := make([]thing, 2*decide.MaxSteps)
	for i := range gone {
		gone[i] = thing{id: fmt.Sprint("id-0-", i), tag: graph.Tag{Owner: f.ledger().Spec.OwnerID, Key: "lonely"}}
	}
	f.clock.Step(2 * settle)
	g, kind := f.graphOf(f.owner(), f.behind(gone...))
	want := f.want("lonely")
	want.Claim = graph.Use(own.id)
	graph.Add(g, kind, want)
	f.Expect(g.Plan(t.Context())).To(ConsistOf(HaveField("Action", graph.ActionUse)))
}

// So many doubles are deleted.
func TestDoubles_mayBeVeryMany(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	for i := range 2 * decide.MaxSteps {
		double := *f.service.things["id-1"]
		double.id = fmt.Sprint("id-2-", i)
		f.service.things[double.id] = &double
	}
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.service.finish()
	f.Expect(f.service.keys()).To(Equal([]string{"lonely"}))
}
