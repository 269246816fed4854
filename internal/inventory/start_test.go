package inventory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/inventory"
)

func TestStart_tellsOnlyWhatHasChanged(t *testing.T) {
	t.Parallel()
	f := start(t, 20, 20*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	ticking := time.NewTicker(5 * time.Millisecond)
	go func() {
		for ctx.Err() == nil {
			<-ticking.C
			f.clock.Step(20 * time.Millisecond)
		}
	}()
	f.Expect(f.status(0)).To(Equal("Ready"))
	lists, _ := f.calls()
	f.Eventually(func() int { now, _ := f.calls(); return now }).Should(BeNumerically(">", lists+3))
	f.Expect(f.inventory.Changes()).NotTo(Receive(), "nothing has changed")

	f.set(3, "Error")
	var change struct{ Object inventory.Change }
	f.Eventually(func() bool {
		select {
		case c := <-f.inventory.Changes():
			change.Object = c.Object
			return true
		default:
			return false
		}
	}).Should(BeTrue())
	f.Expect(change.Object).To(Equal(inventory.Change{Site: site, ID: id(3)}))
	f.mu.Lock()
	delete(f.toys, id(4))
	f.mu.Unlock()
	f.Eventually(f.inventory.Changes()).Should(Receive(HaveField("Object.ID", id(4))), "gone, or only not listed: a reconcile has to look")
	stop()
	f.Eventually(ended).Should(Receive(BeNil()))
}

// A caller doesn't wait until all changes are delivered, and still none gets lost.
func TestStart_tellsWhatThereWasNoRoomFor(t *testing.T) {
	t.Parallel()
	const number = 3000
	f := start(t, number, 20*time.Millisecond)
	f.Expect(f.status(0)).To(Equal("Ready"))
	for n := range number {
		f.set(n, "Error")
	}
	f.clock.Step(time.Second)
	f.Expect(f.status(0)).To(Equal("Error"))

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	heard := map[string]bool{}
	for len(heard) < number {
		select {
		case c := <-f.inventory.Changes():
			heard[c.Object.ID] = true
		case <-time.After(patience):
			t.Fatalf("heard of %d changes of %d", len(heard), number)
		}
	}
	stop()
	f.Eventually(ended).Should(Receive(BeNil()))
}

// The receiver of a change reads the current state of the site, whatever other changes are pending.
func TestStart_isHeardByWhoAsksInTurn(t *testing.T) {
	t.Parallel()
	const number = 3000 // more than there is room for
	f := start(t, number, 20*time.Millisecond)
	f.Expect(f.status(0)).To(Equal("Ready"))
	for n := range number {
		f.set(n, "Error")
	}
	f.clock.Step(100 * time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	f.Eventually(f.inventory.Changes()).Should(HaveLen(cap(f.inventory.Changes())), "the others have to wait")

	f.Expect(f.inventory.Changes()).To(Receive())
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f.Expect(f.inventory.Refresh(asking, f.api, site, f.clock.Now())).To(Succeed())
	stop()
	f.Eventually(ended).Should(Receive(BeNil()))
}

func TestStart_listsASiteWhileAnotherHangs(t *testing.T) {
	t.Parallel()
	const dead = "20000000-0000-4000-8000-000000000002"
	f := start(t, 1, 20*time.Millisecond)
	release := f.hold(t, dead)
	for _, at := range []string{site, dead} {
		_, err := f.inventory.Newest(f.api, at) // from now on it is listed
		f.Expect(err).NotTo(HaveOccurred())
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	for range 3 {
		f.clock.Step(time.Millisecond)
		since := f.clock.Now()
		f.clock.Step(20 * time.Millisecond)
		f.Eventually(func() (time.Time, error) { return f.inventory.Newest(f.api, site) }).Should(BeTemporally(">", since))
	}
	stop()
	release()
	f.Eventually(ended).Should(Receive(BeNil()))
}

// A manager that shuts down keeps its lease until all has ended, and no replica works meanwhile. Only creates are worth that.
func TestStart_endsWhileAListHangs(t *testing.T) {
	t.Parallel()
	f := start(t, 1, 20*time.Millisecond)
	f.hold(t, "")
	_, err := f.inventory.Newest(f.api, site) // from now on it is listed
	f.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	ended, asked := make(chan error, 1), make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	f.clock.Step(40 * time.Millisecond)
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(1))
	const other = "20000000-0000-4000-8000-000000000002"
	go func() { _, err := f.inventory.Get(ctx, f.api, other, id(0)); asked <- err }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(2))
	stop()
	f.Eventually(ended).Should(Receive(BeNil()))
	f.Eventually(asked).Should(Receive(HaveOccurred()))
}

// With an interval of 30 s, what was just made is listed after 1 s, and then less and less often; a change begins that again.
func TestStart_listsSoonWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every, tick = 3 * time.Second, 10 * time.Millisecond
		f := start(t, 1, every)
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- f.inventory.Start(ctx) }()
		// looks advances the clock until there was another list, and returns how much time that took.
		looks := func() time.Duration {
			before, _ := f.calls()
			passed := time.Duration(0)
			for now := before; now == before; now, _ = f.calls() {
				f.Expect(passed).To(BeNumerically("<", 10*every), "there is no other list")
				f.clock.Step(tick)
				passed += tick
				time.Sleep(tick) // the bubble's time
				synctest.Wait()  // the clock is never ahead of what it wakes
			}
			return passed
		}
		f.Expect(f.status(0)).To(Equal("Ready"))
		f.Expect(looks()).To(BeNumerically(">=", every-every/30))

		f.set(1, "Pending")
		f.inventory.Put(f.api, site, &toy{ID: id(1), Site: site, Status: "Pending"})
		var soon []time.Duration
		for range 4 {
			soon = append(soon, looks())
		}
		f.Expect(soon[0]).To(BeNumerically("<", every/5), "%v", soon)
		f.Expect(soon[3]).To(BeNumerically(">", soon[0]), "%v", soon)
		f.Expect(soon[0]+soon[1]+soon[2]).To(BeNumerically("<", every), "%v", soon)

		f.set(1, "Ready")
		looks()
		f.Expect(looks()).To(BeNumerically("<", every/4), "a change, so there may be more")
		cancel()
		f.Eventually(ended).Should(Receive(BeNil()))
	})
}
