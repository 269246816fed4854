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

// opensIn opens the owner's graph with credentials that lead to an account.
func (f *fixture) opensIn(account func(context.Context) (string, error)) (*graph.Graph, error) {
	f.t.Helper()
	kind := f.service.kind()
	kind.Service = &graph.Service{Account: account}
	g, err := f.engine().New(f.t.Context(), f.owner(), []string{"any"}, kind)
	if err == nil {
		f.wants(g, kind)
	}
	return g, err
}

func account(id string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return id, nil }
}

// What was made in one account looks gone in each other one.
func TestAccount_otherThanThatOfWhatWasMadeIsRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll() // by a version that didn't ask for the account
	reconcile := func(account func(context.Context) (string, error)) error {
		g, err := f.opensIn(account)
		if err == nil {
			_, err = g.Reconcile(t.Context())
		}
		return err
	}
	f.Expect(reconcile(account("first"))).To(Succeed())
	f.Expect(f.ledger().Spec.Account).To(Equal("first"))
	calls, before := len(f.service.calls), f.ledger()
	for range 2 {
		err := reconcile(account("second"))
		f.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
		f.Expect(err).To(MatchError(And(ContainSubstring("any leads to account second"), ContainSubstring("in account first"))))
		f.Expect(f.service.calls).To(HaveLen(calls), "nothing is asked for, so nothing looks gone")
		f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed()) // a deletion waits, too
	}
	f.Expect(f.ledger().Spec).To(Equal(before.Spec))
	f.Expect(reconcile(func(context.Context) (string, error) { return "", errors.New("down") })).To(MatchError(ContainSubstring("down")))
}

// The credentials of an owner without anything of its own may lead anywhere, and its deletion needs none.
func TestAccount_isAnyWhereNothingWasMade(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	use := func(id string) {
		kind := f.service.kind()
		kind.Service = &graph.Service{Account: account(id)}
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		graph.Add(g, kind, f.claims("lonely", graph.Use(theirs.id)))
		_, err = g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(f.ledger().Spec.Account).To(Equal(id))
	}
	use("first")
	use("second")
}

func TestAccount_isNotAskedForWhereNothingIsToBeDeleted(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	g, err := f.opensIn(func(context.Context) (string, error) { return "", errors.New("down") })
	f.Expect(err).NotTo(HaveOccurred())
	done, _, err := g.Delete(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(done).To(BeTrue())
}

// The ledger was restored from before something was made: only the owner shows that, and it isn't in the other account.
func TestAccount_otherThanThatOfAnOlderLedgerReleasesNothing(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	_, err := f.opensIn(account("first"))
	f.Expect(err).NotTo(HaveOccurred())
	shown := f.service.mustFind("lonely").id
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries, l.Spec.Account = nil, "first" })
	f.service = newService() // that of the other account
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	kind := f.service.kind()
	kind.Service = &graph.Service{Account: account("second")}
	_, err = f.engine().New(t.Context(), showing{f.owner(), []string{shown}}, []string{"any"}, kind)
	f.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
	f.Expect(err).To(MatchError(ContainSubstring("in account first")))
}

// Nor does a seed forget it, which accepts that what is to be deleted is gone.
func TestAccount_otherThanThatOfAnOlderLedgerIsNotSeeded(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	shown := f.service.mustFind("lonely").id
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries, l.Spec.Account = nil, "first" })
	f.service = newService() // that of the other account
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	seed := func(id string) error {
		kind := f.service.kind()
		kind.Service = &graph.Service{Account: account(id)}
		line := ledgers.Resource{Key: "lonely", Kind: "thing", ID: shown, Own: true}
		return f.engine().Seed(t.Context(), showing{f.owner(), []string{shown}}, "", []string{"any"}, []graph.AnyKind{kind}, line)
	}
	f.Expect(fault.ClassOf(seed("second"))).To(Equal(fault.Credentials))
	f.Expect(f.ledger().Spec.Entries).To(BeEmpty())
	f.Expect(seed("first")).To(Succeed())
	f.Expect(f.ledger().Spec.Account).To(Equal("first"))
}
