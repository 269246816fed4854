package sim

import (
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// nic is an interface of an instance.
type nic struct {
	id       string
	wanted   api.InterfaceCreateRequest
	physical bool
	address  netip.Addr
}

func (n nic) networkID() string { return networkID(n.wanted) }

// networkID is the ID of the subnet or of the VPC prefix.
func networkID(r api.InterfaceCreateRequest) string { return r.SubnetID + r.VPCPrefixID }

// checkInterfaces checks each interface, and that they fit together.
func (s *Server) checkInterfaces(request api.InstanceCreateRequest, v *vpc, now time.Time) error {
	wanted := request.Interfaces
	for _, r := range wanted {
		if err := checkInterface(r); err != nil {
			return err
		}
		if (r.SubnetID == "") != (wanted[0].SubnetID == "") {
			return badField("interfaces", "all Interfaces must be either Subnet or VPC Prefix based")
		}
		if (r.Device == "") != (wanted[0].Device == "") {
			return badField("interfaces", "either all or none of the Interfaces must specify `device` and `deviceInstance`")
		}
	}
	physical := 0
	for _, r := range wanted {
		if r.IsPhysical && r.Device == "" {
			physical++
		}
	}
	if physical > 1 {
		return badField("interfaces", "only one of the Interfaces can be physical")
	}
	if wanted[0].SubnetID != "" {
		if len(request.SecondaryVPCIDs) > 0 {
			return badField("secondaryVpcIds", "can only be specified for VPC Prefix based Interfaces")
		}
		return s.checkSubnets(wanted, v, now)
	}
	if err := s.checkPrefixes(request, v, now); err != nil {
		return err
	}
	_, err := s.newInterfaces(wanted, v.siteID)
	return err
}

// checkInterface checks what can be seen from the interface alone.
func checkInterface(r api.InterfaceCreateRequest) error {
	const field = "interfaces"
	switch {
	case r.SubnetID != "" && r.VPCPrefixID != "":
		return badField(field, "`subnetId` and `vpcPrefixId` cannot be specified together")
	case r.SubnetID == "" && r.VPCPrefixID == "":
		return badField(field, "either `subnetId` or `vpcPrefixId` must be specified")
	case r.IPAddress != "" && r.SubnetID != "":
		return badField(field, "`ipAddress` cannot be specified for Subnet based Interfaces")
	case r.Device == "" && r.DeviceInstance != nil:
		return badField(field, "`device` must be specified when `deviceInstance` is specified")
	case r.Device == "":
	case r.DeviceInstance == nil:
		return badField(field, "`deviceInstance` must be specified when `device` is specified")
	case r.VPCPrefixID == "":
		return badField(field, "`vpcPrefixId` must be specified when `device` and `deviceInstance` are specified")
	case !r.IsPhysical && r.VirtualFunctionID == 0:
		return badField(field, "`virtualFunctionId` must be specified when `device` is specified and `isPhysical` is false")
	}
	if r.IPAddress == "" {
		return nil
	}
	address, err := netip.ParseAddr(r.IPAddress)
	switch {
	case err != nil:
		return badField(field, "ipAddress must be a valid IPv4 or IPv6 address")
	case !isHostAddress(address):
		return badField(field, "ipAddress must have a final host bit of 1")
	}
	return nil
}

func (s *Server) checkSubnets(wanted []api.InterfaceCreateRequest, v *vpc, now time.Time) error {
	for _, r := range wanted {
		n, found := s.state.subnets.byID(r.SubnetID)
		switch {
		case !found || n.tenantID != v.tenantID:
			return bad("Subnet: %s specified in request data is not found in DB", r.SubnetID)
		case n.Status(now) != string(api.SubnetStatusReady):
			return bad("Subnet: %s specified in request data is not in Ready state", n.id)
		case n.vpcID != v.id:
			return bad("Subnet: %s specified in request does not match with VPC", n.id)
		}
	}
	return nil
}

// checkPrefixes wants the secondary VPCs to be exactly those that the prefixes are of besides the instance's own.
func (s *Server) checkPrefixes(request api.InstanceCreateRequest, v *vpc, now time.Time) error {
	primary := slices.IndexFunc(request.Interfaces, func(r api.InterfaceCreateRequest) bool { return r.IsPhysical })
	secondary := map[string]bool{}
	for i, r := range request.Interfaces {
		p, found := s.state.prefixes.byID(r.VPCPrefixID)
		switch {
		case !found || p.tenantID != v.tenantID:
			return bad("VPC Prefix: %s specified in request data is not found in DB", r.VPCPrefixID)
		case p.Status(now) != string(api.VPCPrefixStatusReady):
			return bad("VPC Prefix: %s specified in request data is not in Ready state", p.id)
		case p.siteID != v.siteID:
			return bad("VPC Prefix: %s specified in request does not belong to the Site of VPC", p.id)
		case p.vpcID == v.id:
		case i == max(primary, 0):
			return bad("VPC Prefix: %s of the primary Interface does not match with VPC", p.id)
		case !slices.Contains(request.SecondaryVPCIDs, p.vpcID):
			return bad("VPC Prefix: %s specified in request does not match with VPC or Secondary VPCs", p.id)
		default:
			secondary[p.vpcID] = true
		}
	}
	for _, id := range request.SecondaryVPCIDs {
		if !secondary[id] {
			return badField("secondaryVpcIds", "no Interface is in VPC: %s", id)
		}
		if _, err := s.readyVPC(id, v.tenantID, now); err != nil {
			return err
		}
	}
	return nil
}

// newInterfaces takes an address for each interface.
func (s *Server) newInterfaces(wanted []api.InterfaceCreateRequest, siteID string) ([]nic, error) {
	used := s.usedAddresses(siteID)
	for _, r := range wanted { // first, so that they aren't given to other interfaces
		if r.IPAddress == "" {
			continue
		}
		if err := s.checkAddress(r, used); err != nil {
			return nil, err
		}
		used[netip.MustParseAddr(r.IPAddress)] = true
	}
	physical := slices.ContainsFunc(wanted, func(r api.InterfaceCreateRequest) bool { return r.IsPhysical })
	interfaces := make([]nic, 0, len(wanted))
	for i, r := range wanted {
		address, err := s.newAddress(r, used)
		if err != nil {
			return nil, err
		}
		used[address] = true
		interfaces = append(interfaces, nic{
			id: uuid.NewString(), wanted: r, address: address, physical: r.IsPhysical || (!physical && i == 0),
		})
	}
	return interfaces, nil
}

// checkAddress checks an address that the client has chosen.
func (s *Server) checkAddress(r api.InterfaceCreateRequest, used map[netip.Addr]bool) error {
	p, found := s.state.prefixes.byID(r.VPCPrefixID)
	address := netip.MustParseAddr(r.IPAddress)
	switch {
	case !found:
		return bad("VPC Prefix: %s specified in request data is not found in DB", r.VPCPrefixID)
	case !p.prefix.Contains(address):
		return bad("ipAddress: %s specified in request is not in VPC Prefix: %s", address, p.prefix)
	case used[address]:
		return bad("ipAddress: %s specified in request is already in use", address)
	}
	return nil
}

func (s *Server) newAddress(r api.InterfaceCreateRequest, used map[netip.Addr]bool) (netip.Addr, error) {
	if r.IPAddress != "" {
		return netip.MustParseAddr(r.IPAddress), nil // checked before
	}
	var network netip.Prefix
	free := freeAddress
	if n, found := s.state.subnets.byID(r.SubnetID); found {
		network = n.prefix
	} else if p, found := s.state.prefixes.byID(r.VPCPrefixID); found {
		network, free = p.prefix, freeHostAddress
	} else { // deleted while the create waited
		return netip.Addr{}, bad("Subnet or VPC Prefix: %s specified in request data is not found in DB", networkID(r))
	}
	address, ok := free(network, used)
	if !ok {
		return address, bad("Could not create IPAM entry for Interface. Details: no address left in %s", network)
	}
	return address, nil
}
