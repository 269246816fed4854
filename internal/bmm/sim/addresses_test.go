package sim

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
)

func TestFreePrefix(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		block  string
		length int
		used   []string
		want   string
	}{
		"empty block":             {"10.0.0.0/16", 24, nil, "10.0.0.0/24"},
		"the whole block":         {"10.0.0.0/16", 16, nil, "10.0.0.0/16"},
		"larger than the block":   {"10.0.0.0/16", 15, nil, ""},
		"first one used":          {"10.0.0.0/16", 24, []string{"10.0.0.0/24"}, "10.0.1.0/24"},
		"a hole":                  {"10.0.0.0/16", 24, []string{"10.0.0.0/24", "10.0.2.0/24"}, "10.0.1.0/24"},
		"behind a larger one":     {"10.0.0.0/16", 28, []string{"10.0.0.0/20"}, "10.0.16.0/28"},
		"behind a smaller one":    {"10.0.0.0/16", 20, []string{"10.0.0.16/28"}, "10.0.16.0/20"},
		"full":                    {"10.0.0.0/30", 31, []string{"10.0.0.0/31", "10.0.0.2/31"}, ""},
		"at the end of all space": {"255.255.255.252/30", 31, []string{"255.255.255.252/31", "255.255.255.254/31"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var used []netip.Prefix
			for _, u := range row.used {
				used = append(used, netip.MustParsePrefix(u))
			}
			got, ok := freePrefix(netip.MustParsePrefix(row.block), row.length, used)
			g.Expect(ok).To(Equal(row.want != ""))
			if ok {
				g.Expect(got.String()).To(Equal(row.want))
			}
		})
	}
}

func TestFreeAddress_skipsNetworkGatewayAndBroadcast(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	used := map[netip.Addr]bool{}
	var got []string
	for {
		address, ok := freeAddress(netip.MustParsePrefix("10.0.0.8/29"), used)
		if !ok {
			break
		}
		used[address] = true
		got = append(got, address.String())
	}
	g.Expect(got).To(Equal([]string{"10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.14"}))
}
