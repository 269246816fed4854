package manager

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// reader reads requests as webhooks do, in full, and counts what it is asked.
type reader struct{ asked atomic.Int64 }

// ServeHTTP implements http.Handler.
func (h *reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked.Add(1)
	if _, err := io.ReadAll(r.Body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusTeapot)
}

// client at an address, with a connection of its own.
func clientAt(t *testing.T, server *httptest.Server, address string) *http.Client {
	t.Helper()
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = server.EnableHTTP2
	transport.DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Any client that reaches the webhooks may start requests, without a certificate.
func TestWebhooks_areServedBesideUnfinishedRequests(t *testing.T) { //nolint:paralleltest // all webhooks of a process share what may be in memory
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, webhooks := NewWithT(t), &reader{}
			server := httptest.NewUnstartedServer(bounded(webhooks))
			server.EnableHTTP2 = h2
			server.StartTLS()
			defer server.Close()
			ask := func(ctx context.Context, from *http.Client, body io.Reader) (int, error) {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, body)
				g.Expect(err).NotTo(HaveOccurred())
				answer, err := from.Do(request)
				if err != nil {
					return 0, err
				}
				return answer.StatusCode, answer.Body.Close()
			}
			hostile, end := context.WithCancel(t.Context())
			defer end()
			var sent, ended sync.WaitGroup
			for range 48 {
				body, send := io.Pipe()
				context.AfterFunc(hostile, func() { _ = send.CloseWithError(context.Canceled) })
				from := clientAt(t, server, "127.0.0.1")
				sent.Go(func() { _, _ = send.Write(make([]byte, 2<<20)) })
				ended.Go(func() {
					_, _ = ask(hostile, from, body)
					_ = body.Close()
				})
			}
			sent.Wait()
			g.Expect(ask(t.Context(), clientAt(t, server, "127.0.0.2"), bytes.NewReader(make([]byte, 1<<20)))).To(Equal(http.StatusTeapot))
			end()
			ended.Wait()
			g.Expect(webhooks.asked.Load()).To(BeEquivalentTo(1), "none of those that haven't ended")
			for range 3 { // nothing of what has ended is counted
				g.Expect(ask(t.Context(), clientAt(t, server, "127.0.0.1"), bytes.NewReader(make([]byte, 2<<20)))).To(Equal(http.StatusTeapot))
			}
			status, err := ask(t.Context(), clientAt(t, server, "127.0.0.2"), bytes.NewReader(make([]byte, webhookBody+1)))
			g.Expect(err != nil || status != http.StatusTeapot).To(BeTrue(), "too large")
		})
	}
}

// checked counts what it is asked of.
type checked struct{ asked atomic.Int64 }

func (c *checked) ValidateCreate(context.Context, *resourcev1.ResourceGroup) (admission.Warnings, error) {
	c.asked.Add(1)
	return nil, nil
}

func (c *checked) ValidateUpdate(ctx context.Context, _, after *resourcev1.ResourceGroup) (admission.Warnings, error) {
	return c.ValidateCreate(ctx, after)
}

func (c *checked) ValidateDelete(ctx context.Context, g *resourcev1.ResourceGroup) (admission.Warnings, error) {
	return c.ValidateCreate(ctx, g)
}

// review of a group with so many empty rules, which had so many before.
func review(rules, before int) []byte {
	of := func(rules int) string {
		return `{"kind":"ResourceGroup","spec":{"securityGroups":[{"name":"a","rules":[` + strings.TrimSuffix(strings.Repeat("{},", rules), ",") + `]}]}}`
	}
	return []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"UPDATE","object":` + of(rules) +
		`,"oldObject":` + of(before) + `}}`)
}

// What is decoded is a hundred times what has come: 7 requests of 4 MiB took 1 GiB. It isn't parallel, for it measures memory.
func TestWebhooks_haveLittleInMemory(t *testing.T) {
	g, validator := NewWithT(t), &checked{}
	server := httptest.NewUnstartedServer(bounded(admission.WithValidator[*resourcev1.ResourceGroup](testenv.Scheme(t), validator)))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	ask := func(from *http.Client, text []byte) string {
		answer, err := from.Post(server.URL, "application/json", bytes.NewReader(text))
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		said, _ := io.ReadAll(answer.Body)
		return string(said)
	}
	payloads := [][]byte{review(1_390_000, 0), review(30_000, 15_000), review(16_000, 16_000)}
	unfinished := make([]byte, 2<<20)
	// What is allocated while the collector marks counts as live. Otherwise that is much on a loaded machine, where it marks for long.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	before, most, end := live(), uint64(0), make(chan struct{})
	var measured, all sync.WaitGroup
	measured.Go(func() {
		for {
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
				most = max(most, live())
			}
		}
	})
	for range 7 {
		from := clientAt(t, server, "127.0.0.1")
		for _, payload := range payloads {
			all.Go(func() { ask(from, payload) })
		}
	}
	all.Wait()
	for range 48 {
		body, send := io.Pipe()
		defer send.CloseWithError(context.Canceled)
		from := clientAt(t, server, "127.0.0.3")
		all.Go(func() { _, _ = send.Write(unfinished) })
		go func() {
			_, _ = from.Post(server.URL, "application/json", body)
			_ = body.Close()
		}()
	}
	all.Wait()
	close(end)
	measured.Wait()
	g.Expect((most-before)>>20).To(BeNumerically("<", 128), "MiB")

	honest := clientAt(t, server, "127.0.0.2")
	for name, c := range map[string]struct {
		rules, before int
		allowed       bool
	}{
		"small": {1000, 1000, true}, "as large as one may be": {16_000, 16_000, true}, "too many": {17_000, 1000, false},
		"fewer than before": {16_500, 17_000, true}, "far too many": {17_000, 30_000, false},
	} {
		g.Expect(ask(honest, review(c.rules, c.before))).To(ContainSubstring(map[bool]string{true: `"allowed":true`, false: "too many values"}[c.allowed]), name)
	}
}

func live() uint64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}
