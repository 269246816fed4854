package httpclient_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

// switching answers that another protocol is spoken from here on, and says nothing more. Such a connection is its caller's: no deadline of a
// request ends it.
func switching(t *testing.T) http.HandlerFunc {
	var mu sync.Mutex
	var silent []net.Conn
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range silent {
			_ = conn.Close()
		}
	})
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		mu.Lock()
		silent = append(silent, conn)
		mu.Unlock()
		_, _ = fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: silence\r\n\r\n")
	}
}

func TestSwitch_ofTheProtocolHoldsNoWorker(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		call      func(context.Context, *toy) error
		ambiguous bool
	}{
		"a read":  {func(ctx context.Context, c *toy) error { _, err := c.Get(ctx); return err }, false},
		"a write": {func(ctx context.Context, c *toy) error { return c.Delete(ctx, "", id) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := newToy(t, at(httpclienttest.Start(t, map[string]http.HandlerFunc{"/": switching(t)})), func(c *httpclient.Config) { c.Timeout = 5 * time.Second })
			answered := make(chan error, 1)
			go func() { answered <- row.call(context.WithoutCancel(t.Context()), c) }()
			var err error
			g.Eventually(answered, time.Minute).Should(Receive(&err), "the worker is held")
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
			g.Expect(fault.IsAmbiguous(err)).To(Equal(row.ambiguous))
		})
	}
}

// All who need the login share its fetch: it has to end, or none logs in again.
func TestSwitch_ofTheLoginsProtocolIsOverWhenTheLoginIsBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	logins, silent := 0, switching(t)
	c := newToy(t, at(httpclienttest.Start(t, map[string]http.HandlerFunc{
		"/sessions": func(w http.ResponseWriter, r *http.Request) {
			if logins++; logins == 1 {
				silent(w, r)
				return
			}
			httpclienttest.Reply(200, `{"session":"one"}`)(w, r)
		},
		"/": httpclienttest.Reply(200, `{"id":"one"}`),
	})), func(c *httpclient.Config) { c.Timeout, c.Login = 5*time.Second, apiKeyLogin(c.Endpoint+"/sessions") })
	_, err := c.Get(t.Context())
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	_, err = c.Get(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
}
