package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// silent: a create has no answer, and what it made isn't listed yet.
func (f *fixture) silent() {
	f.service.before = func(call string) error {
		if call == "create lonely" {
			return errors.New("connection reset")
		}
		return nil
	}
}

// The list of theirs is a set, which the API server doesn't store with doubles: then nothing is reconciled any more.
func TestTheirs_areASet(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs") // id-1
	theirs.creating = true
	f.silent()
	for range 3 {
		g, kind := f.graphOf(f.owner())
		graph.Add(g, kind, f.want("lonely"))
		for _, key := range []string{"a", "b"} {
			w := f.want(key)
			w.Claim = graph.Use(theirs.id)
			graph.Add(g, kind, w)
		}
		_, _ = g.Reconcile(t.Context())
	}
	is := f.ledger().Entry("lonely").Theirs
	f.Expect(slices.Compact(slices.Sorted(slices.Values(is)))).To(HaveLen(len(is)), "%v", is)
}

// More are named than an entry remembers: the ledger is written in each reconcile.
func TestTheirs_manyAreNamedWithoutAWriteInEachReconcile(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.silent()
	var written []string
	for range 5 {
		g, kind := f.graphOf(f.owner())
		graph.Add(g, kind, f.want("lonely"))
		for i := range 70 {
			w := f.want(fmt.Sprint("own/", i))
			w.Claim = graph.Use(fmt.Sprint("theirs-", i))
			graph.Add(g, kind, w)
		}
		_, _ = g.Reconcile(t.Context())
		written = append(written, f.ledger().ResourceVersion)
	}
	f.Expect(written[4]).To(Equal(written[2]), "versions of the ledger, with nothing changed: %v", written)
}
