package client

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/fault"
)

// suspended is a context whose deadline has passed while its timer was stopped.
type suspended struct{ context.Context }

func (suspended) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestExchange_sendsNothingAfterTheDeadlineByTheWallClock(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, err := New(Config{Endpoint: "https://bmm.example.com", Org: "org", APIName: APINameCarbide, Token: "token"})
	g.Expect(err).NotTo(HaveOccurred())
	sent := 0
	create := request{op: "create instance", write: true, send: func(context.Context, *gen.Client) (*http.Response, error) {
		sent++
		return nil, errors.New("sent")
	}}
	_, failed := c.exchange(suspended{t.Context()}, APINameCarbide, "token", create, nil)
	g.Expect(sent).To(BeZero())
	g.Expect(failed.err).To(MatchError(ContainSubstring("not sent")))
	g.Expect(fault.ClassOf(failed.err)).To(Equal(fault.Transient))
	g.Expect(fault.IsAmbiguous(failed.err)).To(BeFalse(), "it is known that nothing was made")
	g.Expect(failed.mayRepeat(true)).To(BeFalse())
}
