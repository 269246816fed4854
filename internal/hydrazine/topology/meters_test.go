package topology_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"

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
	rates := map[string]nbdb.MeterBand{}
	for _, row := range rows {
		if m, ok := row.(*nbdb.Meter); ok {
			g.Expect(m.Unit).To(Equal(nbdb.MeterUnitPktps))
			g.Expect(m.Bands).To(HaveLen(1))
			g.Expect(rates).NotTo(HaveKey(m.Name))
			rates[m.Name] = *bandOf(t, rows, m.Bands[0])
		}
	}
	used := map[string]bool{}
	for kind, meter := range meters {
		g.Expect(used).NotTo(HaveKey(meter))
		used[meter] = true
		g.Expect(rates).To(HaveKey(meter), kind)
		g.Expect(rates[meter].Action).To(Equal(nbdb.MeterBandActionDrop), kind)
		g.Expect([]int{rates[meter].Rate, rates[meter].BurstSize}).To(HaveEach(And(BeNumerically(">", 0), BeNumerically("<=", 100))), kind)
	}
}

func bandOf(t *testing.T, rows []model.Model, ref string) *nbdb.MeterBand {
	t.Helper()
	for _, row := range rows {
		if b, ok := row.(*nbdb.MeterBand); ok && b.UUID == ref {
			return b
		}
	}
	t.Fatalf("there is no band %s", ref)
	return nil
}
