package observer

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTurns_leaveWorkersToOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var fresh turns
	begun := 0
	for range workers {
		if fresh.begin("a") {
			begun++
		}
	}
	g.Expect(begun).To(Equal(shareOfOwner))
	for i := range workers {
		if fresh.begin(fmt.Sprint(i)) {
			begun++
		}
	}
	g.Expect(begun).To(Equal(share))
	fresh.end("a")
	g.Expect(fresh.begin("b")).To(BeTrue())
	g.Expect(fresh.begin("a")).To(BeFalse())
	g.Expect(2*share).To(BeNumerically("<", workers), "some are always for clusters that answer")
}
