package ownip

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
)

func TestCallable(t *testing.T) {
	t.Parallel()
	var all []netip.Addr
	for _, text := range []string{
		"fd18::5", "172.18.0.5", "::ffff:172.18.0.5", "10.200.0.2", // a loopback interface's, say
		"127.0.0.1", "::1", "169.254.128.7", "fe80::5", "224.0.0.5", "255.255.255.255", "0.0.0.0", "::",
	} {
		all = append(all, netip.MustParseAddr(text))
	}
	NewWithT(t).Expect(Callable(all)).To(Equal([]netip.Addr{
		netip.MustParseAddr("10.200.0.2"), netip.MustParseAddr("172.18.0.5"), netip.MustParseAddr("fd18::5"),
	}))
}
