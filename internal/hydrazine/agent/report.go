package agent

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/link"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
	"github.com/bedplate/bedplate/internal/hydrazine/ownip"
)

// report of the current state. There is none before the DPU's name in OVN and its uplink are known.
func (a *Agent) report() (*agentv1.Report, error) {
	now := timestamp(sinceBoot())
	s, l := a.snapshot(), a.keeper.Ledger()
	state, err := a.database.State()
	if err != nil { // the last known state isn't certain any more
		s.isolation, s.attachment = err, err
	}
	chassis := a.remember(state.Chassis)
	if chassis == "" {
		why := words([]error{err, s.isolation, s.attachment})
		return nil, grpcstatus.Errorf(codes.Unavailable, "the DPU's name in OVN isn't known yet: %s", why)
	}
	request, err := a.identity.request(chassis)
	if err != nil {
		return nil, grpcstatus.Error(codes.Internal, err.Error())
	}
	uplink, err := a.rememberUplink(a.uplink())
	if err != nil {
		return nil, grpcstatus.Errorf(codes.Unavailable, "the uplink isn't known yet: %s", words([]error{err}))
	}
	r := &agentv1.Report{
		Time: now, Level: agentv1.Level, Version: version(), Components: s.versions, Chassis: chassis,
		Capabilities: []string{"datapath-" + a.options.DatapathType},
		Uplink:       uplink, SouthboundRequest: request,
		OvnController: &agentv1.OVNController{Running: s.daemons.running, Connected: s.daemons.connected},
		Relay:         relayReport(l, state, s), Datapath: &agentv1.Datapath{},
	}
	if s.datapath.Group == state.Written.Group { // the DPU may be another group's since
		r.Datapath.GroupUid, r.Datapath.Change = s.datapath.Group, s.datapath.Number
	}
	if s.vswitchd != (vswitchd{}) {
		r.OpenVswitch = &agentv1.OpenVSwitch{Running: s.daemons.forwarding, Started: timestamp(s.started), Restarts: s.restarts}
	}
	for _, tunnel := range state.TunnelTypes {
		r.Capabilities = append(r.Capabilities, "tunnel-"+tunnel)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Ports)) {
		if p := port(name, l, state.Ports[name], s); p != nil {
			if problem := a.mtuProblem(uplink, name, l.Network.EncapIP); problem != "" && p.GetAssignment() != nil {
				p.Problem = strings.TrimPrefix(p.GetProblem()+"; "+problem, "; ")
			}
			r.Ports = append(r.Ports, p)
		}
	}
	return r, nil
}

// remember returns the DPU's name in OVN, or the last one that was known.
func (a *Agent) remember(chassis string) string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.status.chassis = cmp.Or(chassis, a.status.chassis)
	return a.status.chassis
}

// snapshot returns a copy of the status.
func (a *Agent) snapshot() status {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	s := a.status
	s.uncut, s.versions = maps.Clone(s.uncut), maps.Clone(s.versions)
	return s
}

// port reports a port of the ledger. One that neither exists nor is assigned is left out.
func port(name string, l *ledger.Ledger, on vswitch.PortState, s status) *agentv1.Port {
	entry := l.Ports[name]
	interfaceNow, exists, err := link.Get(name)
	problems := []error{s.uncut[name], err, s.isolation}
	p := &agentv1.Port{Name: name, Up: interfaceNow.Up, Generation: entry.Generation}
	if entry.Resource == "" {
		if !exists && err == nil {
			return nil
		}
		p.Problem = words(problems)
		return p
	}
	p.Assignment = &agentv1.Assignment{
		ResourceUid: entry.Resource, GroupUid: l.Network.Group, Southbound: l.Network.Southbound,
		LogicalPort: entry.LogicalPort, EncapIp: l.Network.EncapIP.String(),
		DhcpRelay: assigned(l.Network.Relay), HostMac: entry.Host.MAC,
	}
	for _, a := range entry.Host.Addresses {
		p.Assignment.HostIps = append(p.Assignment.HostIps, a.String())
	}
	if l.Network.Certificate != "" {
		p.Assignment.SouthboundTls = &agentv1.SouthboundTLS{
			Certificate: l.Network.Certificate, Authorities: l.Network.Authorities,
		}
	}
	p.LeaseExpires, p.LeaseEnds = timestamppb.New(entry.Until), timestamp(entry.Expires)
	p.Installed = on.Installed && on.LogicalPort == entry.LogicalPort
	problems = append(problems, s.attachment)
	switch {
	case !exists && err == nil:
		problems = append(problems, fmt.Errorf("there is no interface %s", name))
	case on.Problem != "":
		problems = append(problems, fmt.Errorf("ovs-vswitchd: %s", on.Problem))
	}
	p.Problem = words(problems)
	return p
}

// words joins texts, each once.
func words(problems []error) string {
	var said []string
	for _, err := range problems {
		if err != nil && !slices.Contains(said, err.Error()) {
			said = append(said, err.Error())
		}
	}
	return strings.ReplaceAll(strings.Join(said, "; "), "\n", "; ")
}

// rememberUplink returns what was read of the uplink, or the last that was read in full. What couldn't be read isn't gone: the
// controller would remove hosts from their network whose next hop is missing.
func (a *Agent) rememberUplink(now *agentv1.Uplink, err error) (*agentv1.Uplink, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if err == nil {
		a.status.uplink = now
	} else if a.status.uplink != nil {
		slog.Error("The uplink is reported as it was last", "error", err)
		err = nil
	}
	return a.status.uplink, err
}

// maxOtherAddresses is more than the controller keeps hosts from. A node of a cluster may have an address for each Service.
const maxOtherAddresses = 256

// maxGateways is more than the routers of any network.
const maxGateways = 64

func (a *Agent) uplink() (*agentv1.Uplink, error) {
	u := &agentv1.Uplink{Interfaces: a.options.Uplinks, Bridge: vswitch.TransportBridge}
	var problems []error
	for _, name := range a.options.Uplinks {
		nic, _, err := link.Get(name)
		u.Up = u.Up || nic.Up
		problems = append(problems, err)
	}
	bridge, _, err := link.Get(vswitch.TransportBridge)
	u.Mtu = uint32(bridge.MTU) //nolint:gosec // the kernel has none below 0
	addresses, addressesErr := link.Addresses(vswitch.TransportBridge)
	gateways, hops, gatewaysErr := link.Gateways(vswitch.TransportBridge)
	for _, address := range addresses {
		u.Addresses = append(u.Addresses, address.String())
	}
	for _, gateway := range gateways[:min(len(gateways), maxGateways)] {
		u.Gateways = append(u.Gateways, gateway.String())
	}
	for _, hop := range hops[:min(len(hops), maxGateways)] {
		u.NextHops = append(u.NextHops, hop.String())
	}
	own, ownErr := ownip.Addresses()
	for _, address := range own {
		onUplink := slices.ContainsFunc(addresses, func(p netip.Prefix) bool { return p.Addr() == address })
		if !onUplink && len(u.OtherAddresses) < maxOtherAddresses {
			u.OtherAddresses = append(u.OtherAddresses, address.String())
		}
	}
	return u, errors.Join(append(problems, err, addressesErr, gatewaysErr, ownErr)...)
}

// What Geneve adds to a host's packet with the option that OVN needs: Ethernet, IP, UDP and Geneve.
const overIPv4, overIPv6 = 14 + 20 + 8 + 16, 14 + 40 + 8 + 16

// overhead is what a tunnel between addresses such as this one adds to a host's packet, in bytes.
func overhead(encapIP netip.Addr) int {
	if encapIP.Is6() {
		return overIPv6
	}
	return overIPv4
}

// mtuProblem says which MTU is too small for a tunnel, or for the port.
func (a *Agent) mtuProblem(uplink *agentv1.Uplink, name string, encapIP netip.Addr) string {
	if fits := int(uplink.GetMtu()) - overhead(encapIP); fits < a.options.MinMTU {
		return fmt.Sprintf("packets of more than %d bytes don't fit through a tunnel: raise the uplink's MTU to %d",
			fits, a.options.MinMTU+overhead(encapIP))
	}
	if nic, ok, err := link.Get(name); err == nil && ok && nic.MTU < a.options.MinMTU {
		return fmt.Sprintf("packets of more than %d bytes don't fit through %s: raise its MTU to %d", nic.MTU, name,
			a.options.MinMTU)
	}
	return ""
}

// version is what the Go toolchain recorded: a module version, or the commit of a local build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
