package scheduler

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTurns_ofOneNamespaceAreNotThoseOfAnother(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := turns{most: 1}
	end, taken := all.try("a")
	g.Expect(taken).To(BeTrue())
	_, taken = all.try("a")
	g.Expect(taken).To(BeFalse())
	late, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := all.take(late, "a")
	g.Expect(err).To(MatchError(context.Canceled))
	other, err := all.take(t.Context(), "b")
	g.Expect(err).NotTo(HaveOccurred())
	other()
	end()
	end, err = all.take(t.Context(), "a")
	g.Expect(err).NotTo(HaveOccurred())
	end()
	g.Expect(all.each).To(BeEmpty(), "namespaces come and go")
}
