package inventory_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

// Of the workers that reconcile the owners of a dead site, one waits.
func TestRefresh_waitsForNoListOfAServiceThatIsSilent(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	release := f.hold(t, "")
	first, others := make(chan error, 1), make(chan error, 20)
	go func() { first <- f.inventory.Refresh(f.ctx, f.api, site, f.clock.Now()) }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(1))
	for range cap(others) {
		go func() { others <- f.inventory.Refresh(f.ctx, f.api, site, f.clock.Now()) }()
	}
	f.api.setSilent(errors.New("no answer"))
	f.Eventually(others).Should(HaveLen(cap(others)), "also those that have patience")
	for range cap(others) {
		f.Expect(fault.ClassOf(<-others)).To(Equal(fault.Transient))
	}
	f.Expect(first).NotTo(Receive(), "no list was answered meanwhile")
	release()
	f.Eventually(first).Should(Receive(BeNil()))
	f.api.setSilent(nil)
	f.Expect(f.inventory.Refresh(f.ctx, f.api, site, f.clock.Now())).To(Succeed())
}

// An API may answer each page, and never come to the end: each caller that waits for it blocks a worker.
func TestGet_fewWaitLongForAListOfANamespace(t *testing.T) {
	t.Parallel()
	const workers = 10
	f := start(t, 1, interval)
	release := f.hold(t, "")
	red := f.loginFrom("red", "token")
	first, others := make(chan error, 1), make(chan error, workers)
	ask := func(back chan error) { _, err := f.inventory.Get(f.ctx, red, site, id(0)); back <- err }
	go ask(first)
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(1))
	for range workers {
		go ask(others)
	}
	f.Eventually(others).Should(HaveLen(workers - 2))
	for range workers - 2 {
		f.Expect(fault.ClassOf(<-others)).To(Equal(fault.Transient))
	}
	release()
	for range 2 {
		f.Eventually(others).Should(Receive(BeNil()))
	}
	f.Eventually(first).Should(Receive(BeNil()))
}

func TestRefresh_canBeLeft(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	release := f.hold(t, "")
	first := make(chan error, 1)
	go func() { first <- f.inventory.Refresh(f.ctx, f.api, site, f.clock.Now()) }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(1))
	ctx, leave := context.WithCancel(f.ctx)
	leave()
	f.Expect(f.inventory.Refresh(ctx, f.api, site, f.clock.Now())).To(MatchError(context.Canceled))
	release()
	f.Eventually(first).Should(Receive(BeNil()))
}
