package im_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/krake/im"
)

// The ingress answers in place of an IM that is down. That is no answer of IM: all clients together ask once a minute, and then all go on,
// also where all that they ask is what a template needs.
func TestGateway_thatReachesNoIMIsAskedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var calls atomic.Int32
		down := true
		ingress := httpclient.RoundTrip(func(*http.Request) (*http.Response, error) {
			calls.Add(1)
			answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}
			answer.Header.Set("Content-Type", "application/json")
			if down {
				answer.StatusCode = http.StatusServiceUnavailable
			}
			text := map[bool]string{true: "<html>503 Service Temporarily Unavailable</html>", false: `{"cloud": {}}`}[down]
			answer.Body = http.MaxBytesReader(nil, readCloser{strings.NewReader(text)}, 1<<10)
			return answer, nil
		})
		paced := im.Paced(30*time.Second, 0, 0, egress.Policy{Loopback: true})
		var clients []*im.Client
		for range 20 {
			c := im.Config{URL: "http://127.0.0.1:1", Login: im.Credential{
				im.FieldID: "im", im.FieldType: im.TypeIM, im.FieldUsername: "krake", im.FieldPassword: "secret",
			}}
			paced(&c)
			c.HTTP = &http.Client{Transport: ingress}
			client, err := im.New(c)
			g.Expect(err).NotTo(HaveOccurred())
			clients = append(clients, client)
		}
		poll := func() (answered int) {
			for _, c := range clients {
				if _, err := c.DryRun(t.Context(), cluster); err == nil {
					answered++
				}
			}
			return answered
		}
		for range 10 * 60 {
			g.Expect(poll()).To(BeZero())
			time.Sleep(time.Second)
		}
		g.Expect(calls.Load()).To(BeNumerically("<=", 10), "in ten minutes")
		down = false
		time.Sleep(2 * time.Minute)
		g.Expect(poll()).To(Equal(len(clients)))
	})
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
