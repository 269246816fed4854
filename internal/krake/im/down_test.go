package im_test

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/krake/im"
)

// IM is down for ten minutes, while two hundred clusters are polled as their controllers do. Krake called it every half a second.
func TestDown_forTenMinutesItIsCalledOnceAMinuteAndThenAllGoOn(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		const clusters, poll = 200, 30 * time.Second
		id := b.made()
		paced := im.Paced(poll, 0, 0, egress.Policy{})
		var mu sync.Mutex
		down, asked := false, 0
		refusing := func(next http.RoundTripper) http.RoundTripper {
			return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				if asked++; down {
					return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
				}
				return next.RoundTrip(r)
			})
		}
		seen := make([]time.Time, clusters)
		stop := make(chan struct{})
		var polling sync.WaitGroup
		defer polling.Wait()
		defer close(stop)
		for i := range clusters {
			c := b.connect(refusing, func(c *im.Config) {
				transport := c.HTTP
				paced(c)
				c.HTTP = transport
			})
			polling.Go(func() {
				time.Sleep(time.Duration(i) * poll / clusters)
				for pause := poll; ; time.Sleep(pause) {
					_, err := c.State(b.t.Context(), id)
					mu.Lock()
					if err == nil {
						seen[i] = time.Now()
					}
					mu.Unlock()
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		set := func(is bool) int {
			mu.Lock()
			defer mu.Unlock()
			before := asked
			down, asked = is, 0
			return before
		}
		b.pass(5 * time.Minute)
		set(true)
		b.pass(time.Minute) // it has to be noticed by those whose calls are on their way
		b.Expect(set(true)).To(BeNumerically("<=", 20))
		b.pass(9 * time.Minute)
		b.Expect(set(false)).To(BeNumerically("<=", 5), "less than once a minute")
		back := time.Now()
		b.pass(3 * time.Minute)
		mu.Lock()
		for i, at := range seen {
			b.Expect(at).To(BeTemporally(">", back), "cluster %d", i)
		}
		mu.Unlock()
	})
}
