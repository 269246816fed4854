package topology

import (
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// metered are the packets that ovn-controller learns from, answers or sends for hosts, as OVN names them in the table Copp. Those of
// DHCP and DNS are missing: OVN does neither here.
var metered = []string{
	"arp", "arp-resolve", "icmp4-error", "icmp6-error", "nd-na", "nd-ns", "nd-ns-resolve", "nd-ra-opts", "reject", "tcp-reset",
}

// meterRate is how many packets a second of each kind ovn-controller gets on one DPU, in a burst of as many: ten times what hosts need
// that find their neighbors.
const meterRate = 100

// meters bound what hosts, and the fabric, make ovn-controller do. Each such packet leaves the datapath for a thread of ovn-controller,
// and one that asks for a next hop is sent to all of the fabric. A kind has a meter of its own, so that a flood of one kind keeps no
// other from ovn-controller. OVN has one of each on a DPU for all of its hosts.
func (r *rows) meters() {
	uid := r.Group.UID
	copp := &nbdb.Copp{UUID: ovn.Ref("copp/" + uid), ExternalIDs: r.mark("copp/" + uid), Name: r.Group.Name, Meters: map[string]string{}}
	for _, kind := range metered {
		meter, band := "meter/"+kind+"/"+uid, "meter-band/"+kind+"/"+uid
		copp.Meters[kind] = r.Group.Name + "/" + kind
		r.all = append(r.all,
			&nbdb.MeterBand{UUID: ovn.Ref(band), ExternalIDs: r.mark(band), Action: nbdb.MeterBandActionDrop, Rate: meterRate, BurstSize: meterRate},
			&nbdb.Meter{UUID: ovn.Ref(meter), ExternalIDs: r.mark(meter), Name: copp.Meters[kind], Unit: nbdb.MeterUnitPktps,
				Bands: []string{ovn.Ref(band)}},
		)
	}
	r.all = append(r.all, copp)
	r.copp = &copp.UUID
}
