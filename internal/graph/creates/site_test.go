package creates

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Behind one endpoint are sites that hang, and creates there have their turns for as long as the service waits for them.
func TestTurn_sitesThatHangLeaveOneToOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newEndpoint(3)
	at := func(site, credentials string) Place { return Place{Site: site, Credentials: credentials} }
	answered := func(p Place, took time.Duration, made bool) {
		e.end(p)
		e.learn(p.Site, took, made)
	}
	g.Expect(e.take(at("hangs", "a"))).To(BeTrue())
	g.Expect(e.take(at("hangs", "b"))).To(BeTrue())
	g.Expect(e.take(at("hangs", "e"))).To(BeFalse(), "nothing is known of the site yet")
	for range 3 {
		g.Expect(e.take(at("well", "d"))).To(BeTrue())
		answered(at("well", "d"), time.Second, true)
	}
	g.Expect(e.take(at("well", "d"))).To(BeTrue())
	answered(at("well", "d"), time.Millisecond, false) // the service has refused something, and not asked the site
	g.Expect(e.take(at("hangs too", "c"))).To(BeTrue())
	answered(at("hangs", "a"), 50*time.Second, false)
	answered(at("hangs", "b"), 50*time.Second, false)
	answered(at("hangs too", "c"), 50*time.Second, false)

	g.Expect(e.take(at("hangs", "e"))).To(BeTrue())
	g.Expect(e.take(at("hangs", "b"))).To(BeFalse(), "one at a time")
	g.Expect(e.take(at("hangs too", "f"))).To(BeTrue())
	e.learn("hangs as well", time.Minute, false)
	g.Expect(e.take(at("hangs as well", "g"))).To(BeFalse(), "the last one is for others")
	g.Expect(e.take(at("well", "d"))).To(BeTrue())
	answered(at("well", "d"), time.Second, true)

	answered(at("hangs", "e"), time.Second, true)
	g.Expect(e.take(at("hangs as well", "g"))).To(BeTrue(), "one of these is well again")
	g.Expect(e.take(at("hangs", "b"))).To(BeTrue())
}

func TestTurn_aLimitOfOneIsForAnySite(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := newEndpoint(1)
	g.Expect(e.take(Place{Site: "unknown", Credentials: "a"})).To(BeTrue())
	g.Expect(e.take(Place{Site: "unknown", Credentials: "b"})).To(BeFalse())
}
