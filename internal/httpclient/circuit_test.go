package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

const pollInterval = 30 * time.Second

// host is a server without a network whose handling may be changed. It counts running requests.
type host struct {
	mu      sync.Mutex
	answer  step
	sent    int
	working atomic.Int32
	most    atomic.Int32
}

func (h *host) set(s step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = s
}

func (h *host) calls() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

func (h *host) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	answer := h.answer
	h.sent++
	h.mu.Unlock()
	h.most.Store(max(h.working.Add(1), h.most.Load())) // races lose a count at most
	defer h.working.Add(-1)
	return answer(r)
}

// hanging answers never.
func hanging(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// after lets some time pass first.
func after(d time.Duration, then step) step {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return then(r)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// siteIsDown is the API's answer to a write at a site whose agent is down.
var siteIsDown = after(50*time.Second, answers(http.StatusInternalServerError, `{"message": "the site doesn't answer"}`))

// reaching returns a client of a namespace's that shares the circuits with others.
func reaching(t *testing.T, circuits *circuit.Circuits, namespace, endpoint string, h http.RoundTripper) *toy {
	t.Helper()
	return newToy(t, func(c *httpclient.Config) {
		c.Endpoint, c.Secret, c.Circuits, c.HTTP = endpoint, namespace+"/toy", circuits, &http.Client{Transport: h}
		c.QPS, c.Burst = 1000, 1000
	})
}

// loggingIn is reaching for a client of the namespace red that has to log in first.
func loggingIn(t *testing.T, circuits *circuit.Circuits, endpoint, tokenURL string, h http.RoundTripper) *toy {
	t.Helper()
	return newToy(t, oauth2(tokenURL), func(c *httpclient.Config) {
		c.Endpoint, c.Secret, c.Circuits, c.HTTP = endpoint, "red/toy", circuits, &http.Client{Transport: h}
	})
}

// at once so many reads; it returns the errors and how long all have taken, when all are back.
func atOnce(ctx context.Context, number int, c *toy) (errs []error, took time.Duration) {
	began := time.Now()
	errs = make([]error, number)
	var all sync.WaitGroup
	for n := range number {
		all.Go(func() { _, errs[n] = c.Get(ctx) })
	}
	all.Wait()
	return errs, time.Since(began)
}

func failed(errs []error) (number int) {
	for _, err := range errs {
		if err != nil {
			number++
		}
	}
	return number
}

func TestCircuit_anEndpointThatDoesntAnswerIsAskedByOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		dead := &host{answer: hanging}
		c := reaching(t, circuit.New(pollInterval), "blue", "https://dead.example.com", dead)
		errs, took := atOnce(t.Context(), 10, c)
		g.Expect(failed(errs)).To(Equal(10))
		g.Expect(dead.most.Load()).To(BeEquivalentTo(1))
		g.Expect(took).To(Equal(20*time.Second), "a read isn't given the time of a create")

		began := time.Now()
		_, err := c.Get(t.Context())
		g.Expect(time.Since(began)).To(BeZero())
		g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
		g.Expect(err).To(MatchError(And(
			HavePrefix("get thing: not sent: the toy API at https://dead.example.com hasn't answered since 00:00:00 UTC, and until it does, only one call at a time is sent to it"),
			ContainSubstring("no answer in time"))))
		_, err = c.Create(t.Context())
		g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
		g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "nothing was sent")
		g.Expect(fault.IsOverload(err)).To(BeFalse())
		g.Expect(dead.calls()).To(Equal(1))

		time.Sleep(pollInterval / 2)
		errs, _ = atOnce(t.Context(), 10, c)
		g.Expect(failed(errs)).To(Equal(10))
		g.Expect(dead.calls()).To(Equal(2), "one asks again")

		dead.set(found)
		time.Sleep(pollInterval / 2)
		errs, _ = atOnce(t.Context(), 10, c)
		g.Expect(failed(errs)).To(BeNumerically("<", 10))
		errs, took = atOnce(t.Context(), 10, c)
		g.Expect(failed(errs)).To(BeZero(), "one answer is enough")
		g.Expect(took).To(BeZero())
	})
}

func TestCircuit_aStartAtAHealthyEndpointMeetsNoError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		healthy := &host{answer: after(50*time.Millisecond, found)}
		errs, took := atOnce(t.Context(), 20, reaching(t, circuit.New(pollInterval), "blue", "https://api.example.com", healthy))
		g.Expect(failed(errs)).To(BeZero())
		g.Expect(took).To(Equal(250*time.Millisecond), "nineteen wait for the first answer, and then go on five by five")
	})
}

// A tenant can name any number of endpoints.
func TestCircuit_aTenantsDeadEndpointsHoldThreeWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		circuits, dead, healthy := circuit.New(pollInterval), &host{answer: hanging}, &host{answer: found}
		var gone sync.WaitGroup
		for n := range 50 {
			c := reaching(t, circuits, "red", fmt.Sprintf("https://dead-%d.example.com", n), dead)
			gone.Go(func() { _, _ = c.Get(t.Context()) })
		}
		time.Sleep(2 * time.Second)
		g.Expect(dead.working.Load()).To(BeEquivalentTo(3))
		errs, took := atOnce(t.Context(), 20, reaching(t, circuits, "blue", "https://api.example.com", healthy))
		g.Expect(failed(errs)).To(BeZero())
		g.Expect(took).To(BeZero())
		gone.Wait()

		for n := range 50 { // of as many tenants
			c := reaching(t, circuits, fmt.Sprintf("red-%d", n), fmt.Sprintf("https://dead-too-%d.example.com", n), dead)
			gone.Go(func() { _, _ = c.Get(t.Context()) })
		}
		time.Sleep(2 * time.Second)
		g.Expect(dead.working.Load()).To(BeNumerically("<=", 8), "of ten workers")
		gone.Wait()

		var known []*toy
		for n := range 3 {
			known = append(known, reaching(t, circuits, "green", fmt.Sprintf("https://dead-as-well-%d.example.com", n), dead))
			_, err := known[n].Get(t.Context())
			g.Expect(err).To(HaveOccurred())
		}
		time.Sleep(pollInterval)
		for _, c := range known {
			gone.Go(func() { _, _ = c.Get(t.Context()) })
		}
		time.Sleep(2 * time.Second)
		g.Expect(dead.working.Load()).To(BeEquivalentTo(2))
		errs, _ = atOnce(t.Context(), 20, reaching(t, circuits, "green", "https://new.example.com", healthy))
		g.Expect(failed(errs)).To(BeZero(), "the tenant's own new endpoint isn't kept waiting")
		gone.Wait()
	})
}

// Whatever it does in between: an endpoint that hangs now and then holds a few workers, and not all of them again and again.
func TestCircuit_anEndpointThatHangsNowAndThenIsOnTrial(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]step{
		"it hangs":      hanging,
		"it is slow":    after(10*time.Second, found),
		"it is cut off": after(10*time.Second, fails(errors.New("connection reset"))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				moody := &host{answer: found}
				c := reaching(t, circuit.New(pollInterval), "red", "https://api.example.com", moody)
				errs, _ := atOnce(t.Context(), 10, c)
				g.Expect(failed(errs)).To(BeZero())
				moody.set(bad)
				_, _ = atOnce(t.Context(), 10, c)
				for range 3 {
					time.Sleep(pollInterval)
					moody.set(found)
					_, err := c.Get(t.Context())
					g.Expect(err).NotTo(HaveOccurred())
					moody.set(bad)
					moody.most.Store(0)
					_, _ = atOnce(t.Context(), 10, c)
					g.Expect(moody.most.Load()).To(BeEquivalentTo(3))
				}
				moody.set(found)
				for range 11 {
					time.Sleep(pollInterval)
					_, _ = c.Get(t.Context())
				}
				moody.set(after(100*time.Millisecond, found))
				errs, took := atOnce(t.Context(), 10, c)
				g.Expect(failed(errs)).To(BeZero())
				g.Expect(took).To(Equal(200*time.Millisecond), "trusted again")
			})
		})
	}
}

// What hangs is the create, the login, or what one tenant made of the address: it keeps no other tenant from the API.
func TestCircuit_staysClosedForOthers(t *testing.T) {
	t.Parallel()
	const api = "https://api.example.com"
	creates := func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost || r.URL.Host != "api.example.com" || strings.HasPrefix(r.URL.Path, "/path") {
			return hanging(r)
		}
		return found(r)
	}
	for name, hangs := range map[string]func(t *testing.T, circuits *circuit.Circuits, h http.RoundTripper) error{
		"a create at a dead site": func(t *testing.T, circuits *circuit.Circuits, h http.RoundTripper) error {
			_, err := reaching(t, circuits, "red", api, h).Create(t.Context())
			return err
		},
		"a login that hangs": func(t *testing.T, circuits *circuit.Circuits, h http.RoundTripper) error {
			_, err := loggingIn(t, circuits, api, "https://login.example.com/token", h).Get(t.Context())
			return err
		},
		"a path that hangs": func(t *testing.T, circuits *circuit.Circuits, h http.RoundTripper) error {
			_, err := reaching(t, circuits, "red", api+"/path", h).Get(t.Context())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				circuits, h := circuit.New(pollInterval), &host{answer: creates}
				blue := reaching(t, circuits, "blue", api, h)
				_, err := blue.Get(t.Context())
				g.Expect(err).NotTo(HaveOccurred())
				var over sync.WaitGroup
				over.Go(func() { g.Expect(hangs(t, circuits, h)).NotTo(Succeed()) })
				for range 20 {
					time.Sleep(10 * time.Second)
					errs, took := atOnce(t.Context(), 10, blue)
					g.Expect(failed(errs)).To(BeZero())
					g.Expect(took).To(BeZero())
				}
				over.Wait()
			})
		})
	}
}

// Nothing was lost by asking, so it doesn't rest for long at first: a service that was restarted is back soon.
func TestCircuit_anEndpointThatRefusesConnectionsRestsForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		down := &host{answer: found}
		c := reaching(t, circuit.New(pollInterval), "blue", "https://api.example.com", down)
		_, err := c.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		down.set(undialed)
		time.Sleep(time.Second)
		_, err = c.Get(t.Context())
		g.Expect(err).To(MatchError(ContainSubstring("refused")))
		g.Expect(err).NotTo(MatchError(ContainSubstring("not sent")))
		_, err = c.Get(t.Context())
		g.Expect(err).To(MatchError(And(ContainSubstring("not sent"), ContainSubstring("refused"))))
		down.set(found)
		time.Sleep(time.Second)
		_, err = c.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
	})
}

// A login that hangs holds one worker of those that need it, and a few of its tenant's.
func TestCircuit_aLoginThatHangsIsWaitedForByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		h := &host{answer: hanging}
		c := loggingIn(t, circuit.New(pollInterval), "https://api.example.com", "https://login.example.com/token", h)
		var back atomic.Int32
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { _, _ = c.Get(t.Context()); back.Add(1) })
		}
		time.Sleep(2 * time.Second)
		g.Expect(back.Load()).To(BeEquivalentTo(9))
		all.Wait()
		_, err := c.Get(t.Context())
		g.Expect(err).To(MatchError(HavePrefix("log in: not sent: the login at https://login.example.com/token hasn't answered")))
	})
}

// The API answers, and what is to be changed or deleted at one of its sites waits for that site.
func TestCircuit_writesAtASiteThatHangsHoldFewWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		api := &host{}
		var hanging, most atomic.Int32
		api.set(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, "/dead") {
				return found(r)
			}
			most.Store(max(hanging.Add(1), most.Load()))
			defer hanging.Add(-1)
			return siteIsDown(r)
		})
		c := reaching(t, circuit.New(pollInterval), "blue", "https://api.example.com", api)
		_, err := c.Get(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		deleteAll := func() {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { _ = c.Delete(t.Context(), "dead-site", "dead") })
			}
			time.Sleep(2 * time.Second)
			errs, took := atOnce(t.Context(), 20, c)
			g.Expect(failed(errs)).To(BeZero())
			g.Expect(took).To(BeZero())
			g.Expect(c.Delete(t.Context(), "healthy-site", "alive")).To(Succeed())
			all.Wait()
		}
		deleteAll()
		g.Expect(most.Load()).To(BeEquivalentTo(5), "nothing bad was known of it")
		most.Store(0)
		deleteAll()
		g.Expect(most.Load()).To(BeEquivalentTo(1))
		g.Expect(c.Delete(t.Context(), "dead-site", "alive")).To(Succeed())
		most.Store(0)
		deleteAll()
		g.Expect(most.Load()).To(BeEquivalentTo(5), "it answers again")
	})
}
