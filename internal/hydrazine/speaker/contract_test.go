package speaker

import (
	"net/netip"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/speaker/bgp"
)

func TestContract_ofTheRecorder(t *testing.T) { //nolint:paralleltest // as the other one
	contract(t, func(*testing.T) BGP { return newRecorder() })
}

// GoBGP keeps some of its options for the whole process, so there is one server at a time.
func TestContract_ofGoBGP(t *testing.T) { //nolint:paralleltest // see above
	contract(t, func(t *testing.T) BGP {
		s := bgp.New(logr.Discard(), func() {})
		t.Cleanup(func() { NewWithT(t).Expect(s.Close()).To(Succeed()) })
		return s
	})
}

// contract is what a speaker relies on. What neighbors hear is tested with cmd/hydrazine-speaker.
func contract(t *testing.T, newBGP func(*testing.T) BGP) {
	neighbor := func(address string, hold time.Duration) bgp.Neighbor {
		return bgp.Neighbor{Address: netip.MustParseAddr(address), ASN: 65000, Port: 1, HoldTime: hold, Hops: 1}
	}
	configuration := func(neighbors ...bgp.Neighbor) bgp.Config {
		return bgp.Config{ASN: 64512, RouterID: netip.MustParseAddr("127.0.0.1"), RestartTime: time.Minute, Neighbors: neighbors}
	}
	route, hop := netip.MustParsePrefix("203.0.113.1/32"), netip.MustParseAddr("172.18.0.105")
	t.Run("routes come and go in any order, and as often as one likes", func(t *testing.T) {
		g := NewWithT(t)
		b := newBGP(t)
		g.Expect(b.Withdraw(route)).To(Succeed(), "it never was announced")
		for range 2 {
			g.Expect(b.Announce(route, hop)).To(Succeed())
		}
		g.Expect(b.Configure(configuration(neighbor("127.0.0.2", 30*time.Second)))).To(Succeed())
		g.Expect(b.Announce(route, hop.Next())).To(Succeed(), "by another next hop")
		for range 2 {
			g.Expect(b.Withdraw(route)).To(Succeed())
		}
	})
	t.Run("what an earlier process has told is believed until the neighbors are known", func(t *testing.T) {
		g := NewWithT(t)
		b := newBGP(t)
		g.Expect(b.Settled()).To(BeNumerically(">", 0))
		g.Expect(b.Configure(configuration())).To(Succeed())
		g.Expect(b.Settled()).To(BeZero())
	})
	t.Run("a neighbor believes for its hold time and the restart time, also one that is removed", func(t *testing.T) {
		g := NewWithT(t)
		b := newBGP(t)
		g.Expect(b.Memory()).To(BeZero())
		g.Expect(b.Configure(configuration(neighbor("127.0.0.3", 3*time.Second), neighbor("127.0.0.2", 30*time.Second)))).To(Succeed())
		g.Expect(b.Memory()).To(Equal(90 * time.Second))
		g.Expect(b.Settled()).To(BeNumerically("~", 90*time.Second, 5*time.Second))
		g.Expect(b.Configure(configuration())).To(Succeed())
		g.Expect(b.Memory()).To(BeZero())
		g.Expect(b.Settled()).To(BeNumerically("~", 90*time.Second, 5*time.Second))
	})
	t.Run("there is a session for each neighbor, in their order, and none for others", func(t *testing.T) {
		g := NewWithT(t)
		b := newBGP(t)
		g.Expect(b.Sessions()).To(BeEmpty())
		without := neighbor("127.0.0.3", 30*time.Second)
		without.Problem = "there is no Secret"
		g.Expect(b.Configure(configuration(without, neighbor("127.0.0.2", 30*time.Second)))).To(Succeed())
		g.Expect(b.Sessions()).To(HaveExactElements(
			HaveField("Neighbor.String()", "127.0.0.2"),
			And(HaveField("Neighbor.String()", "127.0.0.3"), HaveField("State", "Idle"), HaveField("Message", "there is no Secret"))))
		g.Expect(b.Sessions()).To(HaveEach(HaveField("Since", BeTemporally("~", time.Now(), time.Minute))))
		g.Expect(b.Configure(configuration())).To(Succeed())
		g.Expect(b.Sessions()).To(BeEmpty())
	})
}
