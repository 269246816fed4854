package graph_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// A service that doesn't answer, and twenty IDs in the status that an older ledger lacks.
func TestRecall_asksWhatDoesNotAnswerOnce(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("net")} })
	var ids []string
	for n := range 20 {
		ids = append(ids, fmt.Sprintf("id-%d", n+2))
	}
	asked := 0
	f.service.before = func(string) error {
		asked++ // each takes as long as the client's timeout
		return &fault.Error{Class: fault.Transient, Op: "get", Err: context.DeadlineExceeded}
	}
	g, kind := f.graphOf(showing{f.owner(), ids})
	f.wants(g, kind)
	_, _ = g.Reconcile(t.Context())
	f.Expect(asked).To(BeNumerically("<=", 2), "calls that hang for the client's timeout each, in one reconcile")
}

// The same for the end of a deletion: six kinds at one service that hangs.
func TestSweep_asksWhatDoesNotAnswerOnce(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("site")
	open := func() (*graph.Graph, *graph.Kind[thing]) {
		one := &graph.Service{Endpoint: "one"}
		var kinds []graph.AnyKind
		site := f.service.kind()
		site.Name, site.Service, site.Tag, site.Find = "site", one, nil, nil
		kinds = append(kinds, site)
		for n := range 6 {
			k := f.service.kind()
			k.Name, k.Service = fmt.Sprintf("kind%d", n), one
			kinds = append(kinds, k)
		}
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, kinds...)
		f.Expect(err).NotTo(HaveOccurred())
		return g, site
	}
	g, site := open()
	w := f.want("site")
	w.Claim = graph.Use(theirs.id)
	graph.Add(g, site, w)
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	asked := 0
	f.service.before = func(string) error {
		asked++
		return &fault.Error{Class: fault.Transient, Op: "find", Err: context.DeadlineExceeded}
	}
	g, _ = open()
	_, _, _ = g.Delete(t.Context())
	f.Expect(asked).To(BeNumerically("<=", 2), "calls that hang for the client's timeout each, in one reconcile")
}
