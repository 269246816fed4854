package ovn_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// A group of 100 members against a real northbound database: comparing alone, one change, and everything from scratch.
func BenchmarkApply(b *testing.B) {
	c := newCentral(b)
	n := c.northbound()
	full, less := network(b, members(2, 101)...), network(b, members(2, 100)...)
	b.Run("no change", func(b *testing.B) {
		apply(b, n, full)
		for b.Loop() {
			apply(b, n, full)
		}
	})
	b.Run("one member comes or goes", func(b *testing.B) {
		apply(b, n, full)
		for i := 0; b.Loop(); i++ {
			apply(b, n, []*topology.Topology{less, full}[i%2])
		}
	})
	b.Run("all are written", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			_, err := n.Apply(b.Context(), blue.UID, nil)
			NewWithT(b).Expect(err).NotTo(HaveOccurred())
			b.StartTimer()
			apply(b, n, full)
		}
	})
}

func BenchmarkTopology(b *testing.B) {
	for b.Loop() {
		network(b, members(2, 101)...).Rows()
	}
}
