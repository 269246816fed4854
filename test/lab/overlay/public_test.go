package overlay_test

import (
	"net/netip"
	"testing"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// From the internet to a host and back, by its public address; to the data centre it is seen under its fabric address.
func TestPublicIP_leadsInAndOut(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.Flat(2), public, func(d *drawn) {
		d.site.FabricPrefixes = prefixes("172.18.0.0/16", "172.19.0.0/16", "fd00:1::/64", "fd00:2::/64")
	})
	for _, m := range d.members {
		for v, a := range m.Addresses {
			internet, dc := d.server(fabric.Internet)[v], d.server(fabric.DC)[v]
			d.seen(fabric.Internet, a.PublicIP, internet)
			d.seen(m.Name, internet, a.PublicIP)
			d.seen(m.Name, dc, a.FabricIP)
			d.seen(fabric.DC, a.FabricIP, dc)
			d.seen(fabric.DC, a.PublicIP, dc)
		}
	}
	// Where nothing is said of the data centre's networks, all of it leaves with the public address.
	d.site.FabricPrefixes = nil
	d.write()
	for v, a := range d.members[0].Addresses {
		d.seen(d.members[0].Name, d.server(fabric.DC)[v], a.PublicIP)
		d.seen(fabric.DC, a.FabricIP, d.server(fabric.DC)[v])
	}
	// A host that loses its public address isn't reached by it any more.
	public := d.members[0].Addresses[0].PublicIP
	d.members[0].Addresses[0].PublicIP = netip.Addr{}
	d.write()
	d.silent(probe.TCP, fabric.Internet, public)
	d.seen(d.members[0].Name, d.server(fabric.Internet)[0], d.members[0].Addresses[0].FabricIP)
}

// Hosts reach each other, and themselves, by the addresses that the fabric and the internet know them by: on one DPU and on
// two.
func TestPublicIP_hairpin(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.TwoPorts(2), public, func(d *drawn) {
		d.site.FabricPrefixes = prefixes("172.18.0.0/16", "172.19.0.0/16", "fd00:1::/64", "fd00:2::/64")
	})
	from := d.members[0]
	for _, to := range d.members {
		for v, a := range to.Addresses {
			as := from.Addresses[v]
			d.seen(from.Name, a.PublicIP, as.PublicIP)
			if to.UID == from.UID {
				// By then the destination is the host's own address, and that is none of the data centre's.
				d.seen(from.Name, a.FabricIP, as.PublicIP)
			} else {
				d.seen(from.Name, a.FabricIP, as.FabricIP)
			}
		}
	}
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
