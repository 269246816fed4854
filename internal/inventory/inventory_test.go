package inventory_test

import (
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

func TestGet_costsOneListForAllOwners(t *testing.T) {
	t.Parallel()
	f := start(t, 50, interval)
	for n := range 50 {
		f.Expect(f.status(n)).To(Equal("Ready"))
	}
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(1))
	f.Expect(gets).To(BeZero())
}

// Each cluster may have a Secret of its own, with the same login in it.
func TestGet_costsOneListForAllSecretsOfAnAccount(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	for range 3 {
		f.api = f.login("token")
		f.Expect(f.status(0)).To(Equal("Ready"))
	}
	lists, _ := f.calls()
	f.Expect(lists).To(Equal(1))
	f.api = f.login("another-token")
	f.Expect(f.status(0)).To(Equal("Ready"))
	lists, _ = f.calls()
	f.Expect(lists).To(Equal(2), "another account may see something else")
}

func TestGet_listsAgainIfNoOtherCallerDoes(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.set(0, "Error")
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.clock.Step(2 * interval)
	f.Expect(f.status(0)).To(Equal("Error"))
}

// A list may lag behind, and half of one is none.
func TestGet_thatIsNotInTheListIsAskedFor(t *testing.T) {
	t.Parallel()
	f := start(t, 2, interval)
	f.unlisted[id(1)] = true
	f.Expect(f.status(1)).To(Equal("Ready"))
	f.Expect(f.status(1)).To(Equal("Ready"))
	_, gets := f.calls()
	f.Expect(gets).To(Equal(1), "what was got counts like what was listed")

	_, err := f.inventory.Get(f.ctx, f.api, site, id(7))
	f.Expect(fault.IsNotFound(err)).To(BeTrue())
}

func TestGet_isUnknownWhenTheListFails(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.mu.Lock()
	f.failing = true
	f.mu.Unlock()
	f.clock.Step(2 * interval)
	for range 5 {
		_, err := f.inventory.Get(f.ctx, f.api, site, id(0))
		f.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	}
	f.mu.Lock()
	f.failing = false
	f.mu.Unlock()
	f.clock.Step(interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
}

// A site whose list takes its time, or fails once, is no reason to know less than a moment ago.
func TestGet_thatWasJustSeenWaitsForNoListAndFailsWithNone(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	release := f.hold(t, "")
	f.clock.Step(2 * interval)
	listed := make(chan string)
	go func() { listed <- f.status(0) }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(2), "a list is on its way")
	f.inventory.Put(f.api, site, &toy{ID: id(1), Site: site, Status: "Pending"})
	f.clock.Step(-interval - time.Second) // for a caller now the last list is recent enough
	f.Expect(f.status(0)).To(Equal("Ready"))
	release()
	f.Eventually(listed).Should(Receive(Equal("Ready")))

	f.mu.Lock()
	f.failing = true
	f.mu.Unlock()
	f.clock.Step(interval / 2)
	f.Expect(f.status(0)).To(Equal("Ready"))
}

func TestTouch_forgetsWhatWasSeenBefore(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.inventory.Touch(f.api, site, id(0))
	f.set(0, "Terminating")
	f.Expect(f.status(0)).To(Equal("Terminating"))
	f.Expect(f.status(0)).To(Equal("Terminating"))
	_, gets := f.calls()
	f.Expect(gets).To(Equal(1))
}

func TestPut_sparesTheFirstLook(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.inventory.Put(f.api, site, &toy{ID: id(1), Site: site, Status: "Pending", Secret: "secret"})
	f.Expect(f.status(1)).To(Equal("Pending"))
	_, gets := f.calls()
	f.Expect(gets).To(BeZero())
}

func TestPut_believesNoAnswerAboutItsSite(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	for n := range 100 {
		f.inventory.Put(f.api, site, &toy{ID: id(0), Site: id(n), Status: "Ready"})
	}
	f.Expect(f.inventory.Shelves()).To(Equal(1))
}

// Writing another login into a Secret once a second would leave a client, and a list in each interval, for each of them.
func TestInventory_forgetsTheLoginThatASecretHadBefore(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	other := f.loginFrom("other", "token")
	f.Expect(f.inventory.Refresh(f.ctx, other, site, f.clock.Now())).To(Succeed())
	for n := range 100 {
		f.Expect(f.inventory.Refresh(f.ctx, f.login(strconv.Itoa(n)), site, f.clock.Now())).To(Succeed())
	}
	f.Expect(f.inventory.Shelves()).To(Equal(2))
}
