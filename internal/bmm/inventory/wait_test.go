package inventory_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

// Of the workers that reconcile the machines of a dead site, one waits.
func TestInventory_waitsForNoListOfASilentAPI(t *testing.T) {
	t.Parallel()
	f := start(t, 1)
	release := f.hold(t)
	api, err := bmm.New(bmm.Config{
		Endpoint: f.url, Org: "org", Token: "token", APIName: bmm.APINameCarbide,
		Limits: httpclient.Limits{Circuits: circuit.New(interval), Egress: egress.Policy{Loopback: true}},
	})
	f.Expect(err).NotTo(HaveOccurred())
	first, others := make(chan error, 1), make(chan error, 20)
	go func() { first <- f.inventory.Refresh(f.ctx, api, siteID, f.clock.Now()) }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(1))
	for range cap(others) {
		go func() { others <- f.inventory.Refresh(f.ctx, api, siteID, f.clock.Now()) }()
	}
	f.Eventually(others).Should(HaveLen(cap(others)), "also those that have patience")
	for range cap(others) {
		f.Expect(fault.ClassOf(<-others)).To(Equal(fault.Transient))
	}
	f.Expect(first).NotTo(Receive(), "no list was answered meanwhile")
	release()
	f.Eventually(first).Should(Receive(BeNil()))
	f.Expect(f.inventory.Refresh(f.ctx, api, siteID, f.clock.Now())).To(Succeed())
}

func TestInventory_waitsForNoListWithoutEnd(t *testing.T) {
	t.Parallel()
	f := start(t, 1)
	f.hold(t)
	f.api = f.loginFrom("slow", "token", func(c *bmm.Config) { c.Timeout = 100 * time.Millisecond })
	_, err := f.inventory.Get(context.WithoutCancel(f.ctx), f.api, siteID, id(0))
	f.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
}
