package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim/hostile"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// attack starts a hostile server and returns a client for it.
func attack(t *testing.T, server *hostile.Server, timeout time.Duration) *client.Client {
	t.Helper()
	c, err := client.New(victim(t, server, timeout))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// victim starts a hostile server, and is its client.
func victim(t *testing.T, server *hostile.Server, timeout time.Duration) client.Config {
	t.Helper()
	listening := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		listening.CloseClientConnections()
		listening.Close()
	})
	return client.Config{
		Endpoint: listening.URL, Org: "acme", Token: token, APIName: "carbide", Secret: t.Name() + "/bmm",
		Limits: httpclient.Limits{Egress: loopback, Timeout: timeout, QPS: 1e6, Burst: 1e6},
	}
}

// allocated is how many bytes a function allocates, in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// calls are a get, a create, a list of few and a list of many.
var calls = map[string]func(context.Context, *client.Client) error{
	"get":  func(ctx context.Context, c *client.Client) error { _, err := c.Instance(ctx, siteID, id); return err },
	"site": func(ctx context.Context, c *client.Client) error { _, err := c.Site(ctx, siteID); return err },
	"type": func(ctx context.Context, c *client.Client) error {
		_, err := c.InstanceType(ctx, siteID, id)
		return err
	},
	"delete": func(ctx context.Context, c *client.Client) error { return c.DeleteVPC(ctx, siteID, id) },
	"create": func(ctx context.Context, c *client.Client) error {
		_, err := c.CreateVPC(ctx, client.VPCCreateRequest{SiteID: siteID})
		return err
	},
	"VPCs": func(ctx context.Context, c *client.Client) error {
		_, err := c.VPCs(ctx, client.VPCFilter{SiteID: siteID})
		return err
	},
	"instances": func(ctx context.Context, c *client.Client) error {
		_, err := c.Instances(ctx, client.InstanceFilter{SiteID: siteID})
		return err
	},
}

// Not in parallel, as what others allocate would count.
func TestHostile_answersAreRefusedBeforeTheyBecomeMemory(t *testing.T) { //nolint:paralleltest // see above
	const most = 8 << 20
	for _, mode := range []hostile.Mode{"huge-page", "items", "endless", "gzip", "deep", "header", "slow", "hang", "switch", "error"} {
		server, err := hostile.New(mode, 1)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		c := attack(t, server, 300*time.Millisecond)
		for name, call := range calls {
			t.Run(string(mode)+"/"+name, func(t *testing.T) { //nolint:paralleltest // see above
				g := NewWithT(t)
				began := time.Now()
				g.Expect(allocated(func() { err = call(t.Context(), c) })).To(BeNumerically("<", 3*most), "with the server's own")
				g.Expect(time.Since(began)).To(BeNumerically("<", 15*time.Second), "a read without this client's limit has twenty")
				if name != "delete" { // its answer isn't read
					g.Expect(err).To(HaveOccurred())
				}
				g.Expect(fault.IsNotFound(err)).To(BeFalse())
			})
		}
	}
}

func TestHostile_aListOfASiteIsBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, err := hostile.New("full", 1)
	g.Expect(err).NotTo(HaveOccurred())
	c := attack(t, server, 20*time.Second)
	_, err = c.Instances(t.Context(), client.InstanceFilter{SiteID: siteID})
	g.Expect(err).To(MatchError(ContainSubstring("the list is too long")))
	g.Expect(server.Calls()).To(BeNumerically("<", 10))
	_, err = c.Instances(t.Context(), client.InstanceFilter{SiteID: siteID, Name: "one"})
	g.Expect(err).To(MatchError(ContainSubstring("it may have 20000 objects and 4 MiB")))
}

func TestList_hasADeadlineOfItsOwn(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // each is in time, and there are 1,000
		time.Sleep(10 * time.Millisecond)
		w.Header().Set("X-Pagination", `{"pageNumber":1,"pageSize":1,"total":20000}`)
		httpclienttest.Reply(200, `[{"id":"`+id+`"}]`)(w, nil)
	})
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c, err := client.New(client.Config{
			Endpoint: "http://127.0.0.1:1", Org: "acme", Token: token, APIName: "carbide",
			Limits: httpclient.Limits{
				Egress: loopback, Timeout: time.Second, QPS: 1e6, Burst: 1e6,
				HTTP: &http.Client{Transport: simulatortest.Transport(func(string) http.Handler { return page })},
			},
		})
		g.Expect(err).NotTo(HaveOccurred())
		_, err = c.Instances(t.Context(), client.InstanceFilter{SiteID: siteID})
		g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
		g.Expect(err).To(MatchError(ContainSubstring("in time")))
	})
}

func TestList_refusesAPageThatWasNotAskedFor(t *testing.T) {
	t.Parallel()
	item := `{"id":"` + id + `"}`
	for name, row := range map[string]struct{ pagination, page, message string }{
		"more items than asked for": {
			`{"pageSize":100,"total":101}`, "[" + strings.Repeat(item+",", 100) + item + "]", "more than 100 items in a page",
		},
		"a larger page":             {`{"pageSize":101,"total":1}`, "[" + item + "]", "X-Pagination can't be right"},
		"a negative total":          {`{"pageSize":100,"total":-1}`, "[" + item + "]", "X-Pagination can't be right"},
		"a total of too many":       {`{"pageSize":100,"total":20001}`, "[" + item + "]", "it may have 20000 objects"},
		"a total beyond all bounds": {`{"pageSize":100,"total":1e99}`, "[" + item + "]", "without X-Pagination"},
		"an item without ID":        {`{"pageSize":100,"total":1}`, "[{}]", "it has no ID"},
		"an ID without end": {
			`{"pageSize":100,"total":1}`, `[{"id":"` + strings.Repeat("1", 129) + `"}]`, "its ID is too long",
		},
		"an item of too many values": {
			`{"pageSize":100,"total":1}`, `[{"id":"1","x":[` + strings.Repeat("{},", 10_000) + `{}]}]`, "more than 10000 values",
		},
		"an item that is too deep": {
			`{"pageSize":100,"total":1}`, `[{"id":"1","x":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}]`, "deeper than 64",
		},
		"an item that is too long": {
			`{"pageSize":100,"total":1}`, `[{"id":"1","x":"` + strings.Repeat("x", 2<<20) + `"}]`, "too long",
		},
		"an object":         {`{"pageSize":100,"total":1}`, item, "not a list"},
		"more than a list":  {`{"pageSize":100,"total":1}`, "[" + item + "] 1", "not JSON"},
		"half a list":       {`{"pageSize":100,"total":1}`, "[" + item + ",", "not JSON"},
		"a wrong separator": {`{"pageSize":100,"total":1}`, "[" + item + ":" + item + "]", "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := serve(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Pagination", row.pagination)
				httpclienttest.Reply(200, row.page)(w, r)
			}})
			_, err := c.VPCs(t.Context(), client.VPCFilter{})
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
			g.Expect(err).To(MatchError(ContainSubstring(row.message)))
		})
	}
}

func TestAnswer_ofAnotherObjectIsNoneOfThisOne(t *testing.T) {
	t.Parallel()
	gone := httpclienttest.Reply(404, `{"message":"Could not find it"}`)
	for name, site := range map[string]string{"nothing": `{}`, "another": `{"id":"` + id + `"}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := serve(t, map[string]http.HandlerFunc{"/": gone, prefix + "site/{id}": httpclienttest.Reply(200, site), prefix + "tenant/current": httpclienttest.Reply(200, `{}`)})
			_, err := c.VPC(t.Context(), siteID, id)
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient), "the control call has shown no site")
			_, err = c.Site(t.Context(), siteID)
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
			_, err = c.Tenant(t.Context())
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))

			c = serve(t, map[string]http.HandlerFunc{"/": httpclienttest.Reply(200, strings.Replace(site, id, siteID, 1))})
			_, err = c.VPC(t.Context(), siteID, id)
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
			_, err = c.UpdateInstance(t.Context(), siteID, id, client.InstanceUpdateRequest{})
			g.Expect(fault.IsAmbiguous(err)).To(BeTrue(), "something has happened")
		})
	}
	t.Run("made without an ID", func(t *testing.T) {
		t.Parallel()
		_, err := serve(t, map[string]http.HandlerFunc{"/": httpclienttest.Reply(201, `{}`)}).CreateVPC(t.Context(), client.VPCCreateRequest{})
		NewWithT(t).Expect(fault.IsAmbiguous(err)).To(BeTrue(), "it may be there")
	})
	t.Run("written otherwise", func(t *testing.T) {
		t.Parallel()
		c := serve(t, map[string]http.HandlerFunc{"/": httpclienttest.Reply(200, `{"id":"abcdef00-0000-4000-8000-000000000000"}`)})
		_, err := c.VPC(t.Context(), siteID, "ABCDEF00-0000-4000-8000-000000000000")
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	})
}

// TestHostile_soak calls a hostile server for some seconds, or for as long as BEDPLATE_HOSTILE says, such as 1h, with the seed
// in BEDPLATE_SEED, or any: nothing panics, and nothing is left.
func TestHostile_soak(t *testing.T) { //nolint:paralleltest // it counts goroutines, and memory
	const workers, most, growth = 20, 200 << 20, 8 << 20
	g := NewWithT(t)
	last, seed := 5*time.Second, rand.Uint64()
	if text := os.Getenv("BEDPLATE_HOSTILE"); text != "" {
		var err error
		last, err = time.ParseDuration(text)
		g.Expect(err).NotTo(HaveOccurred())
	}
	if text := os.Getenv("BEDPLATE_SEED"); text != "" {
		_, err := fmt.Sscan(text, &seed)
		g.Expect(err).NotTo(HaveOccurred())
	}
	t.Logf("seed %d", seed)
	server, err := hostile.New(hostile.All, seed)
	g.Expect(err).NotTo(HaveOccurred())
	server.Trust = 20
	config := victim(t, server, 300*time.Millisecond)
	round := func(until time.Time) {
		var working sync.WaitGroup
		for worker := range workers {
			working.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(worker)))
				names := []string{"get", "site", "type", "delete", "create", "VPCs", "instances"}
				for time.Now().Before(until) {
					c, err := client.New(config) // a new one: a client that has to wait learns little
					g.Expect(err).NotTo(HaveOccurred())
					for range 5 {
						_ = calls[names[random.IntN(len(names))]](t.Context(), c) // any error will do
					}
					c.CloseIdleConnections()
				}
			})
		}
		working.Wait()
	}
	live := func() (heap uint64, goroutines int) {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc, runtime.NumGoroutine()
	}
	round(time.Now().Add(time.Second)) // what is made once
	heap, goroutines := live()
	ends := time.Now().Add(last)
	for time.Now().Before(ends) {
		round(time.Now().Add(min(time.Until(ends), time.Minute)))
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		g.Expect(stats.HeapSys-stats.HeapReleased).To(BeNumerically("<", most), "seed %d", seed)
		g.Eventually(func() int { _, now := live(); return now }, time.Minute).Should(BeNumerically("<=", goroutines+10), "seed %d", seed)
		now, _ := live()
		g.Expect(now).To(BeNumerically("<", heap+growth), "seed %d", seed)
	}
	t.Logf("%d calls", server.Calls())
}
