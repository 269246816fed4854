package manager

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

// reader reads requests as webhooks do, in full, and counts what it has of all of them.
type reader struct{ has, most atomic.Int64 }

// ServeHTTP implements http.Handler.
func (h *reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all := int64(0)
	defer func() { h.has.Add(-all) }()
	for buffer := make([]byte, 32<<10); ; {
		n, err := r.Body.Read(buffer)
		all += int64(n)
		for has, most := h.has.Add(int64(n)), h.most.Load(); has > most && !h.most.CompareAndSwap(most, has); most = h.most.Load() {
		}
		switch {
		case errors.Is(err, io.EOF):
			w.WriteHeader(http.StatusTeapot)
			return
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
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

// Whoever reaches the webhooks may begin requests, and needs no certificate for that.
func TestWebhooks_areServedBesideUnfinishedRequests(t *testing.T) {
	t.Parallel()
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
				sent.Go(func() { _, _ = send.Write(make([]byte, 3<<20)) })
				ended.Go(func() {
					_, _ = ask(hostile, from, body)
					_ = body.Close()
				})
			}
			sent.Wait()
			g.Expect(webhooks.most.Load()).To(BeNumerically("<", 2*webhookRequests), "those that have to go need a moment")
			g.Expect(ask(t.Context(), clientAt(t, server, "127.0.0.2"), bytes.NewReader(make([]byte, 1<<20)))).To(Equal(http.StatusTeapot))
			end()
			ended.Wait()
			g.Eventually(webhooks.has.Load, "10s").Should(BeZero())
			for range 3 { // nothing of what has ended is counted
				g.Expect(ask(t.Context(), clientAt(t, server, "127.0.0.1"), bytes.NewReader(make([]byte, 3<<20)))).To(Equal(http.StatusTeapot))
			}
			status, err := ask(t.Context(), clientAt(t, server, "127.0.0.2"), bytes.NewReader(make([]byte, webhookBody+1)))
			g.Expect(err != nil || status != http.StatusTeapot).To(BeTrue(), "too large")
		})
	}
}
