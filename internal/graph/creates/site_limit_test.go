package creates

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

// A site that hangs has its one turn already: that the endpoint has fewer for all others would hold these up behind it.
func TestTurn_limitIsNotLoweredByASiteThatHangs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	unanswered := &fault.Error{Class: fault.Transient, Op: "create instance", Ambiguous: true, Err: context.DeadlineExceeded}
	at := func(site, credentials string) Place { return Place{Site: site, Credentials: credentials} }
	e := newEndpoint(3)
	for range 3 {
		g.Expect(e.take(at("hangs", "red"))).To(BeTrue())
		e.end(at("hangs", "red"))
		e.learnFrom(at("hangs", "red"), 75*time.Second, unanswered)
	}
	g.Expect(e.take(at("hangs", "red"))).To(BeTrue())
	g.Expect(e.take(at("well", "blue"))).To(BeTrue(), "no other site waits behind it")
}

// What comes at once comes from the endpoint.
func TestTurn_limitIsLoweredByASiteThatAnswers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	busy := &fault.Error{Class: fault.Busy, Op: "create instance", Overloaded: true, Err: context.DeadlineExceeded}
	e := newEndpoint(4)
	p := Place{Site: "any", Credentials: "blue"}
	g.Expect(e.take(p)).To(BeTrue())
	e.end(p)
	e.learnFrom(p, time.Second, busy)
	g.Expect(e.limit).To(Equal(2))
}
