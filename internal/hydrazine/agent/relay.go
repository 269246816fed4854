package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/link"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/relay"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
)

const (
	// maxInterface is the kernel's limit of a name's length.
	maxInterface = 15
	// smallestMTU is what every host has to accept, and so the limit of a server's answer.
	smallestMTU = 576
)

// errRelayNotLooked is the relay's problem before the first attempt to start it.
var errRelayNotLooked = errors.New("it hasn't been started yet")

// withRelay adds the relay's port to those of hosts.
func withRelay(hosts map[string]string, r ledger.Relay) map[string]string {
	all := maps.Clone(hosts)
	if r.Interface != "" {
		all[r.Interface] = r.LogicalPort
	}
	return all
}

// relayLink is the relay's interface, if ovs-vswitchd has made it. One that another program has made is left alone.
func relayLink(r ledger.Relay) (link.Link, error) {
	found, exists, err := link.Get(r.Interface)
	switch {
	case err != nil:
		return link.Link{}, err
	case !exists:
		return link.Link{}, fmt.Errorf("there is no interface %s", r.Interface)
	case found.MAC != r.MAC:
		return link.Link{}, fmt.Errorf("the interface %s isn't the relay's: it has %s", r.Interface, found.MAC)
	}
	return found, nil
}

// keepRelay runs the wanted relay, until ctx ends. Its failures don't affect anything else.
func (a *Agent) keepRelay(ctx context.Context) {
	a.news.follow(ctx, func() bool {
		settings, err := a.relaySettings()
		runs := err == nil && settings != (relay.Settings{})
		if runs {
			err = a.runRelay(ctx, settings)
		}
		a.setRelayProblem(err)
		return runs && err != nil
	})
}

// runRelay relays until something else is wanted, or it fails.
func (a *Agent) runRelay(ctx context.Context, settings relay.Settings) error {
	// Hosts must not reach the DPU through the interface.
	if err := link.Silence(settings.Interface); err != nil {
		return err
	}
	if err := link.Connect(settings.Interface); err != nil {
		return err
	}
	r, err := relay.Open(settings, a.hostsBehind)
	if err != nil {
		return err
	}
	a.setRelayProblem(nil)
	slog.InfoContext(ctx, "Relaying", "interface", settings.Interface, "server", settings.Server)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go a.stopRelay(ctx, settings, stop)
	return r.Run(ctx, a.setRelayProblem)
}

// hostsBehind the DPU, which may ask. They aren't known before the controller has set them for all ports.
func (a *Agent) hostsBehind() map[relay.MAC][]netip.Addr {
	l, all := a.keeper.Ledger(), map[relay.MAC][]netip.Addr{}
	for _, name := range l.Assigned() {
		host := l.Ports[name].Host
		mac, err := relay.ParseMAC(host.MAC)
		if err != nil {
			return nil
		}
		all[mac] = host.Addresses
	}
	return all
}

// stopRelay stops when something else is wanted than these settings, or when ctx ends.
func (a *Agent) stopRelay(ctx context.Context, settings relay.Settings, stop func()) {
	for ctx.Err() == nil {
		news := a.news.wait()
		if now, err := a.relaySettings(); err == nil && now != settings {
			stop()
		}
		rest(ctx, pause)
		select {
		case <-ctx.Done():
		case <-news:
		}
	}
}

func (a *Agent) setRelayProblem(problem error) {
	a.mutex.Lock()
	before := a.status.relay
	a.status.relay = problem
	a.mutex.Unlock()
	if text(before) == text(problem) {
		return
	}
	if problem != nil {
		slog.Warn("Requests for DHCP aren't passed on", "error", problem)
	}
	a.news.announce()
}

// relaySettings returns how to relay now; empty if there is to be no relay.
func (a *Agent) relaySettings() (relay.Settings, error) {
	network := a.keeper.Ledger().Network
	r := network.Relay
	if r.Interface == "" {
		return relay.Settings{}, nil
	}
	port, err := relayLink(r)
	if err != nil {
		return relay.Settings{}, err
	}
	mac, err := relay.ParseMAC(r.MAC)
	if err != nil {
		return relay.Settings{}, err
	}
	bridge, _, err := link.Get(vswitch.TransportBridge)
	if err != nil {
		return relay.Settings{}, err
	}
	own, err := underlay(network.EncapIP, r.Server)
	if err != nil {
		return relay.Settings{}, err
	}
	mtu := bridge.MTU - overhead(network.EncapIP)
	if mtu < smallestMTU {
		return relay.Settings{}, fmt.Errorf("the MTU of %s is %d, which leaves %d bytes", vswitch.TransportBridge, bridge.MTU, mtu)
	}
	return relay.Settings{
		Interface: r.Interface, MAC: mac, Address: r.Address, Server: r.Server, LinkAddress: r.LinkAddress,
		Underlay: own, MTU: mtu, Largest: min(mtu, port.MTU),
	}, nil
}

// underlay returns the address that tunnels end at, or one of the server's IP version.
func underlay(encapIP, server netip.Addr) (netip.Addr, error) {
	if encapIP.Is4() == server.Is4() {
		return encapIP, nil
	}
	addresses, err := link.Addresses(vswitch.TransportBridge)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, own := range addresses {
		if own.Addr().Is4() == server.Is4() {
			return own.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("%s has no address of the server's IP version: %s", vswitch.TransportBridge, server)
}

// relayReport is the state of the relay, or nil if there is to be none.
func relayReport(l *ledger.Ledger, state vswitch.State, s status) *agentv1.Relay {
	r := l.Network.Relay
	if r.Interface == "" {
		return nil
	}
	on := state.Ports[r.Interface]
	problems := []error{s.isolation, s.attachment, s.relay}
	switch {
	case on.Problem != "":
		problems = append(problems, fmt.Errorf("ovs-vswitchd: %s", on.Problem))
	case !on.Installed || on.LogicalPort != r.LogicalPort:
		problems = append(problems, fmt.Errorf("OVN hasn't connected %s", r.LogicalPort))
	}
	return &agentv1.Relay{Relay: assigned(r), Problem: words(problems)}
}

// assigned is the relay as the controller has set it.
func assigned(r ledger.Relay) *agentv1.DHCPRelay {
	if r.Interface == "" {
		return nil
	}
	said := &agentv1.DHCPRelay{
		Interface: r.Interface, LogicalPort: r.LogicalPort, Mac: r.MAC,
		Server: r.Server.String(), LinkAddress: r.LinkAddress.String(),
	}
	if r.Address.IsValid() {
		said.Address = r.Address.String()
	}
	return said
}

// maxHostIPs is more than a host has addresses on its network.
const maxHostIPs = 8

// hostOf checks the controller's settings of the host behind a port. An older controller has none.
func hostOf(from *agentv1.Assignment) (ledger.Host, error) {
	if from.GetHostMac() == "" && len(from.GetHostIps()) == 0 {
		return ledger.Host{}, nil
	}
	mac, err := relay.ParseMAC(from.GetHostMac())
	if err != nil {
		return ledger.Host{}, fmt.Errorf("host_mac is %.60q: write the Ethernet address of one interface", from.GetHostMac())
	}
	if n := len(from.GetHostIps()); n > maxHostIPs {
		return ledger.Host{}, fmt.Errorf("host_ips are %d: write at most %d", n, maxHostIPs)
	}
	host := ledger.Host{MAC: mac.String()}
	for _, text := range from.GetHostIps() {
		address, ok := unicast(text)
		if !ok {
			return ledger.Host{}, fmt.Errorf("host_ips has %.60q: write the host's addresses on the network", text)
		}
		host.Addresses = append(host.Addresses, address)
	}
	return host, nil
}

// dhcpRelay checks the controller's settings.
func dhcpRelay(from *agentv1.DHCPRelay) (ledger.Relay, error) {
	if from == nil {
		return ledger.Relay{}, nil
	}
	refuse := func(field, value, write string) (ledger.Relay, error) {
		return ledger.Relay{}, fmt.Errorf("dhcp_relay.%s is %.60q: write %s", field, value, write)
	}
	name, port := from.GetInterface(), from.GetLogicalPort()
	if name == "" || len(name) > maxInterface || strings.ContainsFunc(name, notInInterface) {
		return refuse("interface", name, fmt.Sprintf("at most %d letters, digits and dashes", maxInterface))
	}
	if port == "" || len(port) > maxText || strings.ContainsFunc(port, unprintable) {
		return refuse("logical_port", port, fmt.Sprintf("a name of at most %d letters", maxText))
	}
	mac, err := relay.ParseMAC(from.GetMac())
	if err != nil {
		return refuse("mac", from.GetMac(), "the Ethernet address of one interface")
	}
	server, ok := unicast(from.GetServer())
	if !ok {
		return refuse("server", from.GetServer(), "the DHCP server's address")
	}
	linkAddress, ok := unicast(from.GetLinkAddress())
	if !ok || linkAddress.Is4() != server.Is4() {
		return refuse("link_address", from.GetLinkAddress(), "an address of the network, of the server's IP version")
	}
	address, ok := unicast(from.GetAddress())
	if !ok && (from.GetAddress() != "" || server.Is4()) || ok && !address.Is4() {
		return refuse("address", from.GetAddress(), "the relay's IPv4 address")
	}
	return ledger.Relay{
		Interface: name, LogicalPort: port, MAC: mac.String(), Address: address, Server: server, LinkAddress: linkAddress,
	}, nil
}

func notInInterface(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// unicast reads the address of one interface that isn't this computer's own.
func unicast(text string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(text)
	a = a.Unmap()
	return a, err == nil && a.Zone() == "" && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() &&
		a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// admitRelay refuses an interface of another program.
func (a *Agent) admitRelay(r ledger.Relay) error {
	taken := append([]string{"lo", vswitch.TransportBridge, vswitch.IntegrationBridge}, a.options.Uplinks...)
	hosts := func(pattern string) bool { ok, _ := filepath.Match(pattern, r.Interface); return ok }
	if slices.Contains(taken, r.Interface) || r.Interface != "" && slices.ContainsFunc(a.options.HostPorts, hosts) {
		return grpcstatus.Errorf(codes.InvalidArgument, "dhcp_relay.interface is %q, which the DPU needs itself", r.Interface)
	}
	return nil
}
