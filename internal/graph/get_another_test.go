package graph_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// A service that takes an ID in another way than it writes it. What the ledger names would never be seen.
func TestUse_anIDThatTheServiceWritesInAnotherWay(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("")
	anyCase := func(kind *graph.Kind[thing]) {
		get := kind.Get
		kind.Get = func(ctx context.Context, id string, in graph.Scope) (*thing, error) {
			return get(ctx, strings.ToLower(id), in)
		}
	}
	for range 2 {
		owner := f.owner()
		f.Expect(func() { _ = f.round(owner, graph.Use(strings.ToUpper(theirs.id)), anyCase) }).NotTo(Panic())
		f.Expect(owner.Status.Conditions).NotTo(BeEmpty())
	}
	f.Expect(f.service.called("get " + theirs.id)).To(BeNumerically("<", 5))
}

func TestUseFound_nothingIsNotAnID(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	nothing := graph.UseFound("that", func(context.Context) (string, error) { return "", nil })
	f.Expect(func() { _ = f.round(f.owner(), nothing) }).NotTo(Panic())
}
