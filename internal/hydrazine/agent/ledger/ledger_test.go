package ledger

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var red = Network{Group: "red", Southbound: "tcp:172.18.0.2:16642", EncapIP: netip.MustParseAddr("172.18.0.5")}

func host(name string, on Network) Assignment {
	return Assignment{Network: on, Resource: "uid-" + name, LogicalPort: "port-" + name}
}

// twoHosts is a ledger where a has p0 and b has p1 until the fifth second, with generation 11; p2 is unassigned.
func twoHosts(g *WithT) *Ledger {
	l := &Ledger{}
	for _, port := range []string{"p0", "p1", "p2"} {
		l.Meet(port, 10)
	}
	g.Expect(l.Attach("p0", 10, host("a", red), 5*time.Second, time.Time{})).To(Succeed())
	g.Expect(l.Attach("p1", 10, host("b", red), 5*time.Second, time.Time{})).To(Succeed())
	return l
}

func withMAC(a Assignment) Assignment {
	a.Host = Host{MAC: "02:00:0a:0a:0a:02", Addresses: []netip.Addr{netip.MustParseAddr("10.10.10.2")}}
	return a
}

func TestAttach(t *testing.T) {
	t.Parallel()
	blue, moved, otherIP, relayed, renewed := red, red, red, red, red
	relayed.Relay = Relay{Interface: "relay-red"}
	renewed.Certificate, renewed.Authorities = "another", "the same"
	blue.Group, moved.Southbound, otherIP.EncapIP = "blue", "tcp:172.18.0.3:16642", netip.MustParseAddr("172.18.0.6")
	for name, test := range map[string]struct {
		port       string
		generation uint64
		to         Assignment
		err        error
		p0, p1     uint64 // generations afterwards
	}{
		"a renewal keeps the generation":                     {"p0", 11, host("a", red), nil, 11, 11},
		"another end of the tunnels keeps it too":            {"p0", 11, host("a", otherIP), nil, 11, 11},
		"another relay keeps it too":                         {"p0", 11, host("a", relayed), nil, 11, 11},
		"so does another certificate":                        {"p0", 11, host("a", renewed), nil, 11, 11},
		"so does another host":                               {"p0", 11, withMAC(host("a", red)), nil, 11, 11},
		"another resource is refused":                        {"p0", 11, host("c", red), ErrHeld, 11, 11},
		"another logical port has a new one":                 {"p0", 11, Assignment{Network: red, Resource: "uid-a", LogicalPort: "port-c"}, nil, 12, 11},
		"another southbound gives all a new one":             {"p0", 11, host("a", moved), nil, 12, 12},
		"an older generation is refused":                     {"p0", 10, host("a", red), ErrGeneration, 11, 11},
		"a newer generation is refused":                      {"p0", 12, host("a", red), ErrGeneration, 11, 11},
		"another group is refused":                           {"p2", 10, host("c", blue), ErrOtherGroup, 11, 11},
		"so it is for who has the port":                      {"p0", 11, host("a", blue), ErrOtherGroup, 11, 11},
		"a resource with another port is refused":            {"p2", 10, host("a", red), ErrSecondPlace, 11, 11},
		"a logical port that another one has is refused":     {"p2", 10, Assignment{Network: red, Resource: "uid-c", LogicalPort: "port-a"}, ErrSecondPlace, 11, 11},
		"a port that no host has ends with a new generation": {"p2", 10, host("c", red), nil, 11, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			l := twoHosts(g)
			before := l.Clone()
			err := l.Attach(test.port, test.generation, test.to, time.Minute, time.Time{})
			if test.err != nil {
				g.Expect(err).To(MatchError(test.err))
				g.Expect(l).To(Equal(before))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(l.Ports["p0"].Generation).To(Equal(test.p0))
			g.Expect(l.Ports["p1"].Generation).To(Equal(test.p1))
			g.Expect(l.Network).To(Equal(test.to.Network))
			g.Expect(l.Ports[test.port].Resource).To(Equal(test.to.Resource))
			g.Expect(l.Ports[test.port].LogicalPort).To(Equal(test.to.LogicalPort))
			g.Expect(l.Ports[test.port].Expires).To(Equal(time.Minute))
		})
	}
}

func TestAttach_theLastOneMayChangeTheGroup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := twoHosts(g)
	blue := Network{Group: "blue", Southbound: "tcp:172.18.0.3:16642", EncapIP: red.EncapIP}
	g.Expect(l.Isolate("uid-b")).To(BeTrue())
	g.Expect(l.Attach("p0", 11, host("a", blue), time.Minute, time.Time{})).To(Succeed())
	g.Expect(l.Ports["p0"].Generation).To(BeEquivalentTo(12))
	g.Expect(l.Network).To(Equal(blue))
}

func TestIsolate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := twoHosts(g)
	g.Expect(l.Isolate("uid-a")).To(BeTrue())
	g.Expect(l.Ports["p0"]).To(Equal(Port{Generation: 12}))
	g.Expect(l.Assigned()).To(Equal([]string{"p1"}))
	g.Expect(l.Network).To(Equal(red))
	g.Expect(l.Isolate("uid-b")).To(BeTrue())
	g.Expect(l.Network).To(Equal(Network{}), "the DPU is free")
}

func TestIsolate_overtakesItsAttach(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := twoHosts(g)
	g.Expect(l.Isolate("uid-c")).To(BeTrue(), "its Attach may be on its way")
	g.Expect(l.Attach("p2", 10, host("c", red), time.Minute, time.Time{})).To(MatchError(ErrGeneration))
	g.Expect(l.Ports["p2"]).To(Equal(Port{Generation: 11}))
	g.Expect(l.Assigned()).To(Equal([]string{"p0", "p1"}))
	g.Expect(l.Ports["p0"].Generation).To(BeEquivalentTo(11), "who has a port keeps it")
}

func TestExpire(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := twoHosts(g)
	g.Expect(l.Attach("p1", 11, host("b", red), 9*time.Second, time.Time{})).To(Succeed())
	next, ok := l.Next()
	g.Expect(ok).To(BeTrue())
	g.Expect(next).To(Equal(5 * time.Second))
	g.Expect(l.Expire(5*time.Second - 1)).To(BeFalse())
	g.Expect(l.Expire(5 * time.Second)).To(BeTrue())
	g.Expect(l.Assigned()).To(Equal([]string{"p1"}))
	g.Expect(l.Ports["p0"].Generation).To(BeEquivalentTo(12))
	g.Expect(l.Expire(time.Hour)).To(BeTrue())
	_, ok = l.Next()
	g.Expect(ok).To(BeFalse())
}

func TestMeet_knownPortsStay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := twoHosts(g)
	before := l.Clone()
	l.Meet("p0", 99)
	g.Expect(l).To(Equal(before))
}
