package inventory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// The others of a site are what fills a shelf.
func TestKeep_leavesOutWhatNobodyAsksAbout(t *testing.T) {
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

func TestKeep_hasRoomForALargeSite(t *testing.T) {
	t.Parallel()
	const number = 10_000
	f := start(t, number, interval)
	face := map[string]any{
		"id": id(1), "instanceId": id(2), "subnetId": id(3), "status": "Ready", "macAddress": "00:00:00:00:00:00",
		"ipAddresses": []string{"10.0.0.1"}, "created": time.Now(), "updated": time.Now(),
	}
	f.more = map[string]any{
		"tenantId": id(1), "instanceTypeId": id(2), "operatingSystemId": id(3), "machineId": "fm100" + strings.Repeat("h", 54),
		"labels":     map[string]string{"owner": id(1), "key": "instance", "token": id(2), "kind": "NvidiaBMMMachine", "name": "machine"},
		"interfaces": []any{face, face}, "serialConsoleUrl": "ssh://" + id(1) + "@console.example.com", "created": time.Now(),
	}
	for n := range number {
		f.Expect(f.status(n)).To(Equal("Ready"))
	}
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(1))
	f.Expect(gets).To(BeZero())
	t.Logf("%d KiB", f.inventory.Kept()>>10)
}
