package inventory_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// The others of a site are what fills a shelf.
func TestKeep_leavesOutWhatNoCallerAsksFor(t *testing.T) {
	t.Parallel()
	f := start(t, 1000, interval)
	f.inventory.Keep = 100 << 10
	for range 3 {
		for n := range 20 {
			f.Expect(f.status(n)).To(Equal("Ready"))
		}
		f.clock.Step(2 * interval)
	}
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(3))
	f.Expect(gets).To(Equal(19), "once each, before they were asked about")
	f.Expect(f.inventory.Kept()).To(BeNumerically("<", f.inventory.Keep))
}

func TestKeep_takesNothingFromAnotherNamespace(t *testing.T) {
	t.Parallel()
	honest, greedy := start(t, 20, interval), start(t, 1000, interval)
	greedy.inventory = honest.inventory
	honest.inventory.Keep = 100 << 10
	for n := range 20 {
		honest.Expect(honest.status(n)).To(Equal("Ready"))
	}
	for n := range 1000 { // in many shelves, or in one
		greedy.api = greedy.loginFrom("greedy", fmt.Sprint("token", n%10))
		greedy.Expect(greedy.status(n)).To(Equal("Ready"))
	}
	honest.Expect(honest.inventory.Kept()).To(BeNumerically("<", honest.inventory.Keep))
	for n := range 20 {
		honest.Expect(honest.status(n)).To(Equal("Ready"))
	}
	lists, gets := honest.calls()
	honest.Expect(lists).To(Equal(1))
	honest.Expect(gets).To(BeZero())
}
