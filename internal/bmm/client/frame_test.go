package client_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/circuit"
	"github.com/bedplate/bedplate/internal/metricstest"
)

// What this package tells the frame of its calls. What the frame makes of it is tested there.

func inCircuits(t *testing.T, secret string, s step) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{
		Endpoint: "https://api.example.com", Org: "acme", Token: token, APIName: "carbide", Secret: secret,
		Limits: httpclient.Limits{
			HTTP: &http.Client{Transport: s}, QPS: 1000, Burst: 1000, Circuits: circuit.New(30 * time.Second),
		},
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// hanging answers never.
func hanging(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestFrame_knowsTheNameOfTheAPI(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := inCircuits(t, "blue/bmm", hanging)
		_, err := c.Tenant(t.Context())
		g.Expect(err).To(MatchError("get tenant: no answer in time: context deadline exceeded"))
		_, err = c.Tenant(t.Context())
		g.Expect(err).To(MatchError(HavePrefix("get tenant: not sent: the BMM API at https://api.example.com hasn't answered since")))
		g.Expect(c.Silent()).To(HaveOccurred())
	})
}

func TestFrame_countsCallsAsBMMs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	secret := "default/" + rand.Text() // metrics are the process's own
	_, err := inCircuits(t, secret, found).Tenant(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	counted := []map[string]string{}
	for _, value := range metricstest.ValuesOf(t, metrics.Registry, "bedplate_outside_calls_total") {
		if value.Labels["credential"] == secret {
			counted = append(counted, value.Labels)
		}
	}
	g.Expect(counted).To(ConsistOf(map[string]string{"system": "bmm", "operation": "get tenant", "class": "ok", "credential": secret}))
}

// held is how many of so many calls, made at once, an API lets wait at the same time.
func held(t *testing.T, hangs func(*http.Request) bool, number int, call func(context.Context, *client.Client)) int32 {
	t.Helper()
	var now, most atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		c := inCircuits(t, "blue/bmm", func(r *http.Request) (*http.Response, error) {
			if !hangs(r) {
				return found(r)
			}
			most.Store(max(now.Add(1), most.Load()))
			defer now.Add(-1)
			return hanging(r)
		})
		_, err := c.Tenant(t.Context())
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		var all sync.WaitGroup
		for range number {
			all.Go(func() { call(t.Context(), c) })
		}
		all.Wait()
	})
	return most.Load()
}

func TestFrame_knowsWhatACallWaitsFor(t *testing.T) {
	t.Parallel()
	method := func(method string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Method == method }
	}
	t.Run("deletes at one site", func(t *testing.T) {
		t.Parallel()
		NewWithT(t).Expect(held(t, method(http.MethodDelete), 20, func(ctx context.Context, c *client.Client) {
			_ = c.DeleteInstance(ctx, "dead-site", id)
		})).To(BeEquivalentTo(5))
	})
	t.Run("changes at several sites", func(t *testing.T) {
		t.Parallel()
		var n atomic.Int32
		NewWithT(t).Expect(held(t, method(http.MethodPatch), 20, func(ctx context.Context, c *client.Client) {
			site := strings.Repeat("x", int(n.Add(1)))
			_, _ = c.UpdateInstance(ctx, site, id, client.InstanceUpdateRequest{})
		})).To(BeEquivalentTo(6))
	})
	t.Run("creates, which hold no worker", func(t *testing.T) {
		t.Parallel()
		NewWithT(t).Expect(held(t, method(http.MethodPost), 20, func(ctx context.Context, c *client.Client) {
			_, _ = c.CreateVPC(ctx, client.VPCCreateRequest{SiteID: siteID})
		})).To(BeEquivalentTo(20))
	})
}

// Each page comes at once, and the last one never: a list of many is one call.
func TestFrame_knowsThatAListIsOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		page := answers(200, `[]`, "X-Pagination", `{"pageNumber":1,"pageSize":100,"total":20000}`)
		c := inCircuits(t, "red/bmm", func(r *http.Request) (*http.Response, error) {
			time.Sleep(900 * time.Millisecond)
			return page(r)
		})
		var waiting atomic.Int32
		var all sync.WaitGroup
		for range 10 {
			waiting.Add(1)
			all.Go(func() {
				_, _ = c.Instances(t.Context(), client.InstanceFilter{Name: "mine"})
				waiting.Add(-1)
			})
		}
		time.Sleep(5 * time.Second)
		g.Expect(waiting.Load()).To(BeNumerically("<=", 5))
		all.Wait()
	})
}
