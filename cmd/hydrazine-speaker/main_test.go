package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Where Kubernetes' own addresses are IPv6, a bridge of the machine's may still have an IPv4 address that others have too.
func TestRouterID_isAnIPv4AddressOfTheNodeOrMadeOfTheName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags flags
		id    string
	}{
		"its own":          {flags{routerID: "172.18.0.9", nodeIPs: []string{"172.18.0.11"}}, "172.18.0.9"},
		"IPv4":             {flags{nodeIPs: []string{"172.18.0.11"}}, "172.18.0.11"},
		"IPv4 first":       {flags{nodeIPs: []string{"172.18.0.11", "fd00::11"}}, "172.18.0.11"},
		"IPv6 first":       {flags{nodeIPs: []string{"fd00::11", "172.18.0.11"}}, "172.18.0.11"},
		"IPv6":             {flags{nodeIPs: []string{"fd00::11"}}, "85.196.51.131"},
		"IPv6, other name": {flags{name: "node-2", nodeIPs: []string{"fd00::11"}}, "86.196.53.22"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c.flags.name, c.flags.namespace, c.flags.configuration = cmp.Or(c.flags.name, "node-1"), "ns", "default"
			config, err := c.flags.config()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.RouterID.String()).To(Equal(c.id))
			g.Expect(config.Addresses).To(HaveLen(len(c.flags.nodeIPs)), "hosts are kept from the node")
		})
	}
}

func TestRouterID_thatIsMadeOfANameIsOneThatRoutersTake(t *testing.T) {
	t.Parallel()
	g, seen := NewWithT(t), map[netip.Addr]string{}
	for n := range 20000 {
		name := fmt.Sprintf("worker-%d.rack-%d.example.com", n, n%40)
		id := idOf(name)
		g.Expect(id.Is4() && id.IsGlobalUnicast()).To(BeTrue(), id.String())
		g.Expect(seen[id]).To(BeEmpty(), name)
		seen[id] = name
	}
}

func TestFlags_areChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags flags
		says  string
	}{
		{flags: flags{name: "node-1.example.com", namespace: "ns", routerID: "172.18.0.11"}},
		{flags{name: "Node", namespace: "ns", routerID: "172.18.0.11"}, "--name"},
		{flags{name: strings.Repeat("n", 111), namespace: "ns", routerID: "172.18.0.11"}, "--name"},
		{flags{name: "n", namespace: "ns", routerID: "fd00::1"}, "--router-id"},
		{flags{name: "n", namespace: "ns", routerID: "one"}, "--router-id"},
		{flags{name: "n", namespace: "ns", nodeIPs: []string{"one"}}, "--node-ips"},
		{flags{name: "n", routerID: "172.18.0.11"}, "--speaker-namespace"},
		{flags{name: "n", namespace: "a/b", routerID: "172.18.0.11"}, "--speaker-namespace"},
		{flags{name: "n", namespace: "ns", configuration: "Other", routerID: "172.18.0.11"}, "--configuration"},
	} {
		c.flags.configuration = cmp.Or(c.flags.configuration, "default")
		config, err := c.flags.config()
		if c.says == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(config.RouterID.String()).To(Equal(c.flags.routerID))
		} else {
			NewWithT(t).Expect(err).To(MatchError(HavePrefix(c.says)))
		}
	}
}
