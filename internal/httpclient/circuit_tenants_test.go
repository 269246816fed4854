package httpclient_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

// Each answer comes before it counts as slow, and still they hold all workers together.
func TestCircuit_anEndpointThatTakesItsTimeHoldsHalfOfTheWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		lazy := &host{answer: after(4900*time.Millisecond, found)}
		c := reaching(t, circuit.New(pollInterval), "red", "https://lazy.example.com", lazy)
		_, err := c.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		for range 5 {
			_, _ = atOnce(t.Context(), 10, c)
		}
		g.Expect(lazy.most.Load()).To(BeEquivalentTo(5))
	})
}

// Each page comes at once, and the last one never.
func TestCircuit_listsOfManyPagesHoldHalfOfTheWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		endless := &host{answer: after(900*time.Millisecond, found)}
		c := reaching(t, circuit.New(pollInterval), "red", "https://endless.example.com", endless)
		var held atomic.Int32
		var all sync.WaitGroup
		for range 10 {
			held.Add(1)
			all.Go(func() {
				_ = c.List(t.Context())
				held.Add(-1)
			})
		}
		time.Sleep(5 * time.Second)
		g.Expect(held.Load()).To(BeNumerically("<=", 5))
		all.Wait()
	})
}

// A tenant's login is as slow as the tenant wants. Its slowness must not count against the API.
func TestCircuit_aLoginThatHangsLaterIsNoMatterOfTheAPI(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		const api = "https://api.example.com"
		logins := 0
		h := &host{}
		h.set(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/token") {
				if logins++; logins > 1 {
					return hanging(r)
				}
				return answers(http.StatusOK, `{"access_token":"a","token_type":"bearer","expires_in":-1}`,
					"Content-Type", "application/json")(r)
			}
			return found(r)
		})
		circuits := circuit.New(pollInterval)
		blue := reaching(t, circuits, "blue", api, h)
		_, err := blue.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		red := loggingIn(t, circuits, api, "https://red.example.com/token", h)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _ = red.Get(ctx)
		_, err = blue.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
	})
}

// The text is in a condition of each object there, and each change of it is a write.
func TestCircuit_saysTheSameAsLongAsNothingChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := reaching(t, circuit.New(pollInterval), "blue", "https://dead.example.com", &host{answer: hanging})
		_, err := c.Get(t.Context())
		g.Expect(err).To(HaveOccurred())
		said := map[string]bool{}
		for range 20 {
			asking := make(chan error, 1)
			go func() { _, err := c.Get(t.Context()); asking <- err }()
			for range 3 {
				time.Sleep(10 * time.Second)
				if _, err := c.Get(t.Context()); strings.Contains(err.Error(), "not sent") {
					said[err.Error()] = true
				}
			}
			<-asking
		}
		g.Expect(said).To(HaveLen(1))
	})
}

// What is deleted at a site that hangs is answered after a minute, and meanwhile the circuit wouldn't learn that the API is back.
func TestCircuit_aChangeAtASiteThatHangsIsNotWhatAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		const api = "https://api.example.com"
		h := &host{answer: undialed}
		circuits := circuit.New(pollInterval)
		red, blue := reaching(t, circuits, "red", api, h), reaching(t, circuits, "blue", api, h)
		_, err := blue.Get(t.Context())
		g.Expect(err).To(HaveOccurred())
		h.set(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodDelete {
				return siteIsDown(r)
			}
			return found(r)
		})
		time.Sleep(pollInterval)
		var all sync.WaitGroup
		all.Go(func() { _ = red.Delete(t.Context(), "dead-site", id) })
		time.Sleep(time.Second)
		_, err = blue.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		all.Wait()
	})
}

// No site is known to hang, and the API answers. A tenant's own API may have any number of sites.
func TestCircuit_writesAtManySitesThatHangHoldFewWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var held, most atomic.Int32
		api := &host{}
		api.set(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodDelete {
				return found(r)
			}
			most.Store(max(held.Add(1), most.Load()))
			defer held.Add(-1)
			return hanging(r)
		})
		circuits := circuit.New(pollInterval)
		red := reaching(t, circuits, "red", "https://red.example.com", api)
		_, err := red.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		var all sync.WaitGroup
		for n := range 20 {
			all.Go(func() { _ = red.Delete(t.Context(), fmt.Sprintf("site-%d", n), id) })
		}
		time.Sleep(2 * time.Second)
		g.Expect(most.Load()).To(BeNumerically("<=", 6))
		_, err = red.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred(), "what it has elsewhere goes on")
		all.Wait()
	})
}

// Each limit by itself leaves workers to others. All of them together must as well.
func TestCircuit_allThatATenantCanThinkOfLeavesWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var held, most atomic.Int32
		api := &host{answer: found}
		circuits := circuit.New(pollInterval)
		trusted := reaching(t, circuits, "red", "https://red.example.com", api)
		_, err := trusted.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		api.set(func(r *http.Request) (*http.Response, error) {
			most.Store(max(held.Add(1), most.Load()))
			defer held.Add(-1)
			if r.Method == http.MethodDelete || strings.HasPrefix(r.Host, "other") {
				return hanging(r)
			}
			return after(900*time.Millisecond, found)(r)
		})
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		var all sync.WaitGroup
		attack := func(call func()) {
			all.Go(func() {
				for ctx.Err() == nil {
					call()
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		for n := range 20 {
			other := reaching(t, circuits, "red", fmt.Sprintf("https://other-%d.example.com", n), api)
			attack(func() { _ = trusted.Delete(ctx, fmt.Sprintf("site-%d", n), id) })
			attack(func() { _, _ = trusted.Get(ctx) })
			attack(func() { _, _ = other.Get(ctx) })
		}
		all.Wait()
		end()
		g.Expect(most.Load()).To(BeNumerically("<=", 8))
	})
}

// Where a service has no sites, a change that takes long is its tenant's own matter.
func TestCircuit_changesWithoutASiteKeepNoOtherTenantWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		const api = "https://api.example.com"
		h := &host{answer: found}
		circuits := circuit.New(pollInterval)
		red, blue := reaching(t, circuits, "red", api, h), reaching(t, circuits, "blue", api, h)
		_, err := blue.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		h.set(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/reds") {
				return after(20*time.Second, found)(r)
			}
			return found(r)
		})
		var all sync.WaitGroup
		all.Go(func() { _ = red.Delete(t.Context(), "", "reds") })
		all.Wait()
		all.Go(func() { _ = red.Delete(t.Context(), "", "reds") })
		time.Sleep(2 * time.Second)
		g.Expect(blue.Delete(t.Context(), "", id)).To(Succeed())
		all.Wait()
	})
}
