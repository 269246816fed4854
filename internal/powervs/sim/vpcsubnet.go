package sim

import (
	"encoding/binary"
	"math/bits"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// subnet is a range of a VPC's addresses in one zone.
type subnet struct {
	regional
	vpc    *vpc
	zone   string
	prefix netip.Prefix
	// cidr is what its client asked for, if anything.
	cidr *string
}

// Status is pending, available or deleting.
func (s *subnet) Status(now time.Time) string { return s.in(availability, now) }

type subnetRequest struct {
	Name          *string        `json:"name"`
	VPC           *idReference   `json:"vpc"`
	Zone          *nameReference `json:"zone"`
	ResourceGroup *idReference   `json:"resource_group"`
	CIDR          *string        `json:"ipv4_cidr_block"`
	Count         *int           `json:"total_ipv4_address_count"`
	IPVersion     string         `json:"ip_version"`
}

func (r *vpcRegion) listSubnets(call *call) (reply, error) {
	return list(call, "subnets", inRegion(r.cloud.vpc.subnets, r.region.Name), map[string]func(*subnet) string{
		"resource_group.id": func(s *subnet) string { return s.group.ID },
		"zone.name":         func(s *subnet) string { return s.zone },
		"vpc.id":            func(s *subnet) string { return s.vpc.id },
		"vpc.crn":           func(s *subnet) string { return s.vpc.crn },
		"vpc.name":          func(s *subnet) string { return s.vpc.name },
	}, func(s *subnet) doc { return r.subnetView(s, call.now) })
}

func (r *vpcRegion) getSubnet(call *call) (reply, error) {
	s, err := getInRegion(r.cloud.vpc.subnets, r.region.Name, call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(r.subnetView(s, call.now))
}

func (r *vpcRegion) createSubnet(call *call) (reply, error) {
	var request subnetRequest
	if err := call.into(&request); err != nil {
		return reply{}, err
	}
	v, err := r.vpcOf(request.VPC, call.now)
	if err != nil {
		return reply{}, err
	}
	siblings := r.cloud.vpc.subnets.within(v.id)
	name, err := nameAmong(request.Name, siblings)
	if err != nil {
		return reply{}, err
	}
	group, err := r.cloud.groupOf(request.ResourceGroup)
	if err != nil {
		return reply{}, err
	}
	switch limit := r.cloud.config.Quotas.Subnets; {
	case request.Zone == nil:
		return reply{}, missing("zone")
	case !slices.Contains(r.region.Zones, request.Zone.Name):
		return reply{}, notFound("zone", request.Zone.Name)
	case exceeded(limit, len(siblings)+1):
		return reply{}, overQuota("over_quota", "subnets in the VPC", limit)
	}
	prefix, err := r.prefixOf(v, request, siblings)
	if err != nil {
		return reply{}, err
	}
	s := &subnet{
		regional: r.newRegional(call.now, name, v.id, "subnet", group, r.cloud.config.Times.Subnet.Duration),
		vpc:      v, zone: request.Zone.Name, prefix: prefix, cidr: request.CIDR,
	}
	return reply{status: http.StatusCreated, body: r.subnetView(add(r.cloud, r.cloud.vpc.subnets, s), call.now)}, nil
}

// prefixOf is the range that a request asks for, by itself or by its size.
func (r *vpcRegion) prefixOf(v *vpc, request subnetRequest, siblings []*subnet) (netip.Prefix, error) {
	home := r.addressPrefix(request.Zone.Name)
	taken := func(p netip.Prefix) bool {
		return slices.ContainsFunc(siblings, func(s *subnet) bool { return s.prefix.Overlaps(p) })
	}
	switch {
	case (request.CIDR == nil) == (request.Count == nil):
		return netip.Prefix{}, refuse(http.StatusBadRequest, "validation_only_one",
			"Exactly one of ipv4_cidr_block and total_ipv4_address_count must be set.")
	case request.CIDR != nil:
		p, err := netip.ParsePrefix(*request.CIDR)
		switch {
		case err != nil || !p.Addr().Is4() || p != p.Masked():
			return p, refuse(http.StatusBadRequest, "validation_invalid_ipv4_cidr", "The value is not a valid IPv4 CIDR: %q", *request.CIDR)
		case v.manual || p.Bits() < home.Bits() || !home.Contains(p.Addr()):
			return p, refuse(http.StatusBadRequest, "not_in_address_prefix",
				"The provided CIDR does not fit in any of the address prefixes in the provided zone.")
		case taken(p):
			return p, refuse(http.StatusConflict, "subnet_conflict", "CIDR conflicts with existing Subnet in VPC.")
		}
		return p, nil
	case v.manual:
		return home, refuse(http.StatusBadRequest, "no_default_address_prefix",
			"The zone must have a default address prefix to create a subnet using total_address_count.")
	}
	return freeRange(home, *request.Count, taken)
}

// addressPrefix is the default one of a zone, the same in each VPC.
func (r *vpcRegion) addressPrefix(zone string) netip.Prefix {
	const size = 18
	region := slices.IndexFunc(r.cloud.config.Regions, func(other Region) bool { return other.Name == r.region.Name })
	third := byte(slices.Index(r.region.Zones, zone)) << (24 - size)                       //nolint:gosec // see maxZones
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(240 + region), third}), size) //nolint:gosec // few regions
}

// freeRange is the first one of so many addresses that isn't taken.
func freeRange(home netip.Prefix, count int, taken func(netip.Prefix) bool) (netip.Prefix, error) {
	switch {
	case count < 8:
		return home, refuse(http.StatusBadRequest, "validation_min_value", "total_ipv4_address_count must be at least 8.")
	case bits.OnesCount(uint(count)) != 1:
		return home, refuse(http.StatusBadRequest, "validation_failure", "total_ipv4_address_count must be a power of 2.")
	}
	length := 32 - bits.TrailingZeros(uint(count))
	four := home.Addr().As4()
	first := int(binary.BigEndian.Uint32(four[:]))
	for at := first; length >= home.Bits() && at < first+1<<(32-home.Bits()); at += count {
		binary.BigEndian.PutUint32(four[:], uint32(at)) //nolint:gosec // it is an address
		if p := netip.PrefixFrom(netip.AddrFrom4(four), length); !taken(p) {
			return p, nil
		}
	}
	return home, refuse(http.StatusConflict, "insufficient_address_space", "The zone's address prefix has no free range of %d addresses.", count)
}

func (r *vpcRegion) deleteSubnet(call *call) (reply, error) {
	s, err := getInRegion(r.cloud.vpc.subnets, r.region.Name, call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if len(r.balancersIn(s)) > 0 {
		return reply{}, refuse(http.StatusConflict, "subnet_not_empty_loadbalancer_exists",
			"Cannot delete the subnet while it contains a load balancer. Delete the load balancer and retry.")
	}
	s.Delete(call.now, r.cloud.config.Times.SubnetDelete.Duration)
	return reply{status: http.StatusNoContent}, nil
}

// asReference is how others show it.
func (s *subnet) asReference() doc {
	d := s.reference("subnets")
	d["resource_type"] = "subnet"
	return d
}

// reserved is how many addresses of each subnet are the service's own.
const reserved = 5

func (r *vpcRegion) subnetView(s *subnet, now time.Time) doc {
	d := s.doc("subnets")
	total := 1 << (32 - s.prefix.Bits())
	d["resource_type"], d["status"], d["ip_version"] = "subnet", s.Status(now), "ipv4"
	d["ipv4_cidr_block"], d["total_ipv4_address_count"] = s.prefix.String(), total
	d["available_ipv4_address_count"] = total - reserved - len(r.balancersIn(s))
	d["vpc"] = s.vpc.asReference()
	d["zone"] = doc{"name": s.zone, "href": href(s.region, "regions", s.region, "zones", s.zone)}
	d["network_acl"], d["routing_table"] = s.vpc.acl(), s.vpc.routingTable()
	return d
}
