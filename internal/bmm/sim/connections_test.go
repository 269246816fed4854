package sim_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
	"github.com/bedplate/bedplate/internal/simulator"
)

// A token that is valid before and after SetTokens is valid all the time: before ff4b39c both were under one lock.
func TestTokens_areReplacedAtOnce(t *testing.T) {
	server, _ := simtest.InMemory(t, sim.DefaultWorld(), nil)
	defer server.Close()
	var tokens []string
	for n := range 100_000 { // so that it is seen soon; with one token the gap is as real, and shorter
		tokens = append(tokens, "token-"+strconv.Itoa(n))
	}
	tokens = append(tokens, sim.DefaultToken)
	var over atomic.Bool
	go func() {
		for range 5 {
			server.SetTokens(tokens)
		}
		over.Store(true)
	}()
	refused, calls := 0, 0
	for !over.Load() {
		r := httptest.NewRequest(http.MethodGet, base+"/site", nil)
		r.Header.Set("Authorization", "Bearer "+sim.DefaultToken)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		calls++
		if w.Code == http.StatusUnauthorized {
			refused++
		}
	}
	if refused > 0 {
		t.Errorf("%d of %d calls with a valid token were answered with 401", refused, calls)
	}
}

func oneConnection(c *sim.Config) { c.Connections = 1 }

// ends checks that a call ends without that anything else has to happen.
func (b bench) ends(what string, call func()) {
	b.t.Helper()
	done := make(chan struct{})
	go func() { call(); close(done) }()
	b.pass(time.Minute)
	b.Expect(done).To(BeClosed(), what)
}

// Late work waits for a second connection with a context that nothing cancels.
func TestClose_endsLateWorkThatWaitsForAConnection(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		b.Expect(b.server.AddFault(simulator.Fault{
			Operation: "createInstance", Kind: simulator.FaultCommitLate, Hold: metav1.Duration{Duration: time.Second},
		})).To(Succeed())
		_, err := b.client.CreateInstance(b.t.Context(), instanceRequest("late", subnet))
		b.Expect(err).To(HaveOccurred())
		b.pass(time.Minute)
		b.server.ClearFaults()
		b.ends("a list, whose client is there", func() { _, _ = b.client.VPCs(b.t.Context(), client.VPCFilter{}) })
		b.ends("Close", b.server.Close)
	}, oneConnection)
}

// As it happens with the 4 connections of the default world: 4 late creates queue behind 4 calls that end together.
func TestDatabase_lateCreatesBlockItForAWhile(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		b.Expect(b.server.AddFault(simulator.Fault{
			Operation: "createInstance", Times: 4, Kind: simulator.FaultCommitLate,
			Hold: metav1.Duration{Duration: time.Second}, Delay: metav1.Duration{Duration: 4 * time.Second},
		})).To(Succeed())
		for n := range 4 {
			go func() {
				_, _ = b.client.CreateInstance(b.t.Context(), instanceRequest("late-"+strconv.Itoa(n), subnet))
			}()
		}
		b.pass(4600 * time.Millisecond) // the late work begins after 5 s
		for n := range 4 {              // these have the connections by then
			go func() {
				_, _ = b.client.CreateVPC(b.t.Context(), client.VPCCreateRequest{Name: "other-" + strconv.Itoa(n), SiteID: sim.DefaultSiteID})
			}()
		}
		b.pass(time.Minute)
		b.ends("a list, whose client is there", func() { _, _ = b.client.VPCs(b.t.Context(), client.VPCFilter{}) })
		b.ends("Close", b.server.Close)
	})
}

// "Close ends all waiting calls"
func TestClose_endsCallsThatWaitForAConnection(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		answered := make(chan struct{})
		go func() {
			_, _ = b.client.CreateInstance(context.WithoutCancel(b.t.Context()), instanceRequest("node-1", subnet))
			close(answered)
		}()
		b.pass(time.Minute)
		b.Expect(answered).NotTo(BeClosed(), "it waits for a second connection")
		b.server.Close()
		b.ends("a call that waits", func() { <-answered })
	}, oneConnection)
}

// A batch whose client leaves is rolled back, as any other create in release 1.5.0.
func TestBatch_thatIsAbandonedIsRolledBack(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populated{vpc: b.vpc("net")}
		w.subnet = b.subnet(w.vpc, "nodes")
		ctx, cancel := context.WithTimeout(b.t.Context(), 500*time.Millisecond)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, "POST", base+"/instance/batch",
			strings.NewReader(w.newInstance(b, fields{"name": nil, "namePrefix": "node", "count": 3})))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+sim.DefaultToken)
		b.server.ServeHTTP(httptest.NewRecorder(), r)
		b.pass(time.Minute)
		b.Expect(b.server.State().Instances).To(BeEmpty())
	}, func(c *sim.Config) { c.Abandoned = sim.AbandonedRolledBack })
}
