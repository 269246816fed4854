package flagcheck_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/flagcheck"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, good := range []string{":9440", "127.0.0.1:9440", "[::1]:9440", "localhost:6060", "0"} {
		g.Expect(flagcheck.Address("at", good, "0")).To(Succeed(), good)
	}
	for _, bad := range []string{"", "9440", "localhost", "::1", "localhost:", "http://localhost:6060"} {
		g.Expect(flagcheck.Address("at", bad, "0")).To(MatchError(`--at="`+bad+`": must be HOST:PORT or :PORT, or "0" to turn it off`), bad)
	}
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, good := range []string{"a", "team-a", "0"} {
		g.Expect(flagcheck.Namespace("in", good)).To(Succeed(), good)
	}
	for _, bad := range []string{"", "A", "a.b", "-a", "a-", "a/b"} {
		g.Expect(flagcheck.Namespace("in", bad)).To(MatchError(`--in="`+bad+`": must be the name of a namespace`), bad)
	}
}
