package graph

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/ledgers"
)

type named string

func (n named) ref() string { return string(n) }

func TestAdd_panicsWhereThereCouldBeACircle(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	graph := &Graph{}
	kind := &Kind[struct{}]{Name: "thing"}
	net := Add(graph, kind, Want[struct{}]{Key: "net"})
	Add(graph, kind, Want[struct{}]{Key: "left", After: []Ref{net}})
	g.Expect(func() { Add(graph, kind, Want[struct{}]{Key: "right", After: []Ref{named("later")}}) }).
		To(PanicWith("graph: right comes after later, which isn't added before it"))
}

// A ledger that was edited by hand: nothing is deleted, and what to do is said.
func TestDelete_saysThatALedgerHasACircle(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	entries := map[string]*ledgerv1.Entry{
		"left":  {Kind: "thing", Condition: "LeftReady", State: ledgerv1.Bound, ID: "1", After: []string{"right"}},
		"right": {Kind: "thing", Condition: "RightReady", State: ledgerv1.Bound, ID: "2", After: []string{"left"}},
	}
	owner := &bmmv1.NvidiaBMMCluster{}
	graph := &Graph{owner: owner, ledger: &ledgers.Ledger{OwnerID: "o", Entries: entries, Leaving: true}}
	report := newReport(&Engine{})
	graph.remove(context.Background(), report)
	g.Expect(report.of("LeftReady")).To(ConsistOf(HaveField("Phase.Message",
		"the ledger has a dependency cycle between right and left: correct the ledger")))
	g.Expect(entries).To(HaveLen(2))
}
