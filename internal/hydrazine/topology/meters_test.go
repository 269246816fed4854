package topology_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// What is missing here, or spelled differently, OVN ignores.
func TestMeters_boundEachKindOfPacketByItself(t *testing.T) {
	t.Parallel()
	g, rows := NewWithT(t), draw(t, group("10.10.10.0/24", "10.10.10.1"), member("a", "10.10.10.2", "172.18.0.105/24")).Rows()
	meters := find[*nbdb.Copp](t, rows, "copp").Meters
	for _, kind := range []string{
		"arp", "arp-resolve", "icmp4-error", "icmp6-error", "nd-na", "nd-ns", "nd-ns-resolve", "nd-ra-opts", "reject", "tcp-reset",
	} {
		g.Expect(meters).To(HaveKey(kind))
	}
	used := map[string]bool{}
	for _, meter := range meters {
		g.Expect(used).NotTo(HaveKey(meter))
		used[meter] = true
	}
}
