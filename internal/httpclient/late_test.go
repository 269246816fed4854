package httpclient

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

// suspended is a context whose deadline has passed while its timer was stopped.
type suspended struct{ context.Context }

func (suspended) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestBounded_sendsNothingAfterTheDeadlineByTheWallClock(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, err := New(Config{Name: "the API", Endpoint: "https://api.example.com", Login: Bearer("token"), Limits: Limits{Timeout: time.Second, QPS: 1, Burst: 1}})
	g.Expect(err).NotTo(HaveOccurred())
	sent := 0
	layer := c.bounded(RoundTrip(func(*http.Request) (*http.Response, error) {
		sent++
		return nil, errors.New("sent")
	}))
	create, err := http.NewRequestWithContext(suspended{With(t.Context(), &Call{Op: "create"})}, http.MethodPost, "https://api.example.com", nil)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = layer.RoundTrip(create)
	g.Expect(sent).To(BeZero())
	g.Expect(err).To(MatchError(ContainSubstring("not sent")))
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "it is known that nothing was made")
	g.Expect(failureOf(err).mayRepeat(true)).To(BeFalse())
}
