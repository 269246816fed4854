package bgp_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/speaker/bgp"
)

// How GoBGP and FRR get on is tested with cmd/hydrazine-speaker. GoBGP keeps some of its options for the whole process, so there is
// one server at a time.

const (
	patience = 20 * time.Second
	memory   = time.Hour + 30*time.Second // hold time and restart time
)

func configuration(neighbors ...bgp.Neighbor) bgp.Config {
	return bgp.Config{ASN: 64512, RouterID: netip.MustParseAddr("127.0.0.1"), RestartTime: time.Hour, Neighbors: neighbors}
}

func neighbor(address string) bgp.Neighbor {
	return bgp.Neighbor{Address: netip.MustParseAddr(address), ASN: 65000, Port: 1, HoldTime: 30 * time.Second, Hops: 1}
}

func newServer(t *testing.T) *bgp.Server {
	t.Helper()
	s := bgp.New(logr.Discard(), func() {})
	t.Cleanup(func() { NewWithT(t).Expect(s.Close()).To(Succeed()) })
	return s
}

// A process before this one may have announced routes to neighbors.
func TestServer_isNotSettledBeforeItKnowsWhomToTell(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	g.Expect(s.Settled()).To(BeNumerically(">", 0))
	g.Expect(s.Configure(configuration())).To(Succeed())
	g.Expect(s.Settled()).To(BeZero())
	g.Expect(s.Configure(configuration(neighbor("127.0.0.2")))).To(Succeed())
	g.Expect(s.Settled()).To(BeNumerically("~", memory, 5*time.Second))
	g.Expect(s.Configure(configuration())).To(Succeed())
	g.Expect(s.Settled()).To(BeNumerically("~", memory, 5*time.Second), "it forgets no sooner by being none")
}

// What can't be changed yet continues unchanged, and so does what was announced to the neighbor.
func TestServer_remembersWhatASessionHasSaid(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	g.Expect(s.Memory()).To(BeZero())
	slow, quick := neighbor("127.0.0.2"), neighbor("127.0.0.3")
	quick.HoldTime = 3 * time.Second
	g.Expect(s.Configure(configuration(slow, quick))).To(Succeed())
	g.Expect(s.Memory()).To(Equal(memory), "that of the slowest")
	slow.HoldTime, slow.Problem = 3*time.Second, "there is no Secret"
	g.Expect(s.Configure(configuration(slow, quick))).To(Succeed())
	g.Expect(s.Memory()).To(Equal(memory), "its session is as it was")
	slow.Problem = ""
	g.Expect(s.Configure(configuration(slow, quick))).To(Succeed())
	g.Expect(s.Memory()).To(Equal(time.Hour + 3*time.Second))
	g.Expect(s.Configure(configuration())).To(Succeed())
	g.Expect(s.Memory()).To(BeZero())
}

func TestServer_saysHowSessionsAre(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	problem := neighbor("127.0.0.3")
	problem.Problem = "there is no Secret"
	g.Expect(s.Configure(configuration(problem, neighbor("127.0.0.2")))).To(Succeed())
	g.Eventually(s.Sessions).WithTimeout(patience).Should(HaveExactElements(
		And(HaveField("Neighbor.String()", "127.0.0.2"), HaveField("State", "Active"),
			HaveField("Message", "127.0.0.2:1 refuses connections: see that it runs BGP")),
		And(HaveField("Neighbor.String()", "127.0.0.3"), HaveField("State", "Idle"), HaveField("Message", "there is no Secret")),
	))
}

func TestServer_takesRoutesBeforeAConfiguration(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	four, six := netip.MustParsePrefix("203.0.113.1/32"), netip.MustParsePrefix("2001:db8::1/128")
	g.Expect(s.Announce(four, netip.MustParseAddr("172.18.0.105"))).To(Succeed())
	g.Expect(s.Announce(six, netip.MustParseAddr("fd00::105"))).To(Succeed())
	g.Expect(s.Configure(configuration(neighbor("127.0.0.2")))).To(Succeed())
	g.Expect(s.Withdraw(four)).To(Succeed())
	g.Expect(s.Withdraw(six)).To(Succeed())
	g.Expect(s.Withdraw(six)).To(Succeed(), "what isn't announced")
}
