package inventory_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

func name(text string) func(*toy) bool {
	return func(t *toy) bool { return t.Name == text }
}

func TestFind_looksInTheList(t *testing.T) {
	t.Parallel()
	f := start(t, 3, interval)
	for range 3 {
		found, err := f.inventory.Find(f.ctx, f.api, site, name(id(1)))
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(found).To(ConsistOf(HaveField("ID", id(1))))
		f.Expect(f.inventory.Find(f.ctx, f.api, site, name("another"))).To(BeEmpty())
	}
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(1))
	f.Expect(gets).To(BeZero())

	f.mu.Lock()
	f.failing = true
	f.mu.Unlock()
	f.clock.Step(2 * interval)
	_, err := f.inventory.Find(f.ctx, f.api, site, name(id(1)))
	f.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	_, err = f.inventory.Newest(f.api, site)
	f.Expect(err).To(HaveOccurred())
}

// A list that takes longer than it may be old is still recent enough for the callers that waited for it.
func TestRefresh_isOneListForAllWhoWait(t *testing.T) {
	t.Parallel()
	const callers = 20
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	began, err := f.inventory.Newest(f.api, site)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.inventory.Refresh(f.ctx, f.api, site, began.Add(-time.Second))).To(Succeed())
	lists, _ := f.calls()
	f.Expect(lists).To(Equal(1), "the newest is new enough")

	f.clock.Step(10 * time.Second)
	since := f.clock.Now().Add(-2 * time.Second)
	release := f.hold(t, "")
	ended := make(chan error, callers)
	for range callers {
		go func() { ended <- f.inventory.Refresh(f.ctx, f.api, site, since) }()
	}
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(2))
	f.clock.Step(5 * time.Second)
	release()
	for range callers {
		f.Eventually(ended).Should(Receive(BeNil()))
	}
	lists, _ = f.calls()
	f.Expect(lists).To(Equal(2))
}

func TestSince_isOfAListThatIsNewAndWhole(t *testing.T) {
	t.Parallel()
	f := start(t, 1000, interval)
	since := func(began time.Time) bool {
		found, ok := f.inventory.Since(f.api, site, began, name(id(1)))
		if ok {
			f.Expect(found).To(ConsistOf(HaveField("ID", id(1))))
		}
		return ok
	}
	f.Expect(since(time.Time{}.Add(1))).To(BeFalse(), "there is no list yet")
	f.Expect(f.status(0)).To(Equal("Ready"))
	listed := f.clock.Now()
	f.Expect(since(listed)).To(BeTrue())
	f.Expect(since(listed.Add(1))).To(BeFalse())
	f.inventory.Keep = 100 << 10
	f.Expect(f.status(2)).To(Equal("Ready"))
	f.clock.Step(2 * interval)
	f.Expect(f.status(2)).To(Equal("Ready"))
	f.Expect(since(listed)).To(BeFalse(), "not all of it is kept")
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(2))
	f.Expect(gets).To(BeZero())
}

// What is being changed isn't on the shelf until the next list, but it isn't gone.
func TestSince_hasWhatWasTouched(t *testing.T) {
	t.Parallel()
	f := start(t, 3, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	listed := f.clock.Now()
	f.clock.Step(1)
	since := func() []toy {
		f.inventory.Touch(f.api, site, id(1))
		found, ok := f.inventory.Since(f.api, site, listed, name(id(1)))
		f.Expect(ok).To(BeTrue())
		return found
	}
	f.Expect(since()).To(HaveLen(1))
	f.Expect(since()).To(HaveLen(1))

	release := f.hold(t, "")
	ended := make(chan error, 1)
	go func() { ended <- f.inventory.Refresh(f.ctx, f.api, site, f.clock.Now()) }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(2))
	f.clock.Step(1)
	f.Expect(since()).To(HaveLen(1))
	release()
	f.Eventually(ended).Should(Receive(BeNil()))
	f.Expect(since()).To(HaveLen(1), "the list has it, and is of before the change")
}

func TestForget_endsTheListsOfALogin(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.inventory.Forget(f.api, site)
	listed, err := f.inventory.Newest(f.api, site)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(listed).To(BeZero())
}
