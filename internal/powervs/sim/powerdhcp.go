package sim

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"time"
)

// KindDHCPServer are DHCP servers.
const KindDHCPServer Kind = "dhcpServer"

// dhcpServer gives out the addresses of a network of its own.
type dhcpServer struct {
	workspaceObject
	network *network
	// cidr is what its client asked for, if anything.
	cidr *string
	snat bool
	// lease is how long after its server is ACTIVE a lease is known.
	lease time.Duration
}

// Status goes from BUILD to ACTIVE.
func (d *dhcpServer) Status(now time.Time) string {
	return d.in(words{building: "BUILD", ready: "ACTIVE"}, now)
}

type dhcpRequest struct {
	Name        *string `json:"name"`
	CIDR        *string `json:"cidr"`
	DNSServer   *string `json:"dnsServer"`
	SnatEnabled *bool   `json:"snatEnabled"`
	// The SDK always writes it.
	NetworkSecurityGroupIDs []string `json:"networkSecurityGroupIDs"`
}

var dhcpName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// createDHCPServer makes a server with its network, both with their IDs in the answer.
func (p *power) createDHCPServer(w *instance, r *call) (reply, error) {
	var request dhcpRequest
	if err := r.into(&request); err != nil {
		return reply{}, err
	}
	limit := p.cloud.config.Quotas.DHCPServers
	if request.Name != nil && !dhcpName.MatchString(*request.Name) {
		return reply{}, badRequest("name %q: only alphanumeric characters and dashes are allowed", *request.Name)
	}
	if exceeded(limit, len(p.dhcpServers.within(w.id))+1) {
		return reply{}, badRequest("the limit of %d DHCP servers of cloud instance %s has been reached", limit, w.id)
	}
	prefix, err := p.prefixFor(w, request.CIDR)
	if err != nil {
		return reply{}, err
	}
	dns := "1.1.1.1"
	if request.DNSServer != nil {
		dns = *request.DNSServer
	}
	if _, err := netip.ParseAddr(dns); err != nil {
		return reply{}, badRequest("dnsServer %q is not an IP address", dns)
	}
	times := p.cloud.config.Times
	d := &dhcpServer{workspaceObject: newWorkspaceObject(w, "", r.now, times.DHCPServer.Duration), lease: times.Lease.Duration}
	d.cidr = request.CIDR
	d.name, d.snat = d.id, request.SnatEnabled == nil || *request.SnatEnabled
	if request.Name != nil {
		d.name = *request.Name
	}
	name := "DHCPSERVER" + d.name + "_Private"
	if p.networks.Any(func(n *network) bool { return n.workspace == w && n.name == name }) {
		return reply{}, badRequest("a network with the name %s already exists", name)
	}
	d.network = &network{
		workspaceObject: newWorkspaceObject(w, name, r.now, 0), prefix: prefix, dnsServers: []string{dns}, dhcp: d,
		vlan: 101 + len(p.networks.within(w.id)),
	}
	d.network.part = true
	p.networks.Add(d.network)
	return reply{status: http.StatusAccepted, body: d.view(add(p.cloud, p.dhcpServers, d).Status(r.now))}, nil
}

// prefixFor is the one that is asked for, or one that is free.
func (p *power) prefixFor(w *instance, cidr *string) (netip.Prefix, error) {
	overlaps := func(prefix netip.Prefix) bool {
		return p.networks.Any(func(n *network) bool { return n.workspace == w && n.prefix.Overlaps(prefix) })
	}
	if cidr != nil {
		prefix, err := netip.ParsePrefix(*cidr)
		switch {
		case err != nil || !prefix.Addr().Is4() || prefix != prefix.Masked() || prefix.Bits() > 29:
			return prefix, badRequest("cidr %q is not an IPv4 network of /29 or more", *cidr)
		case overlaps(prefix):
			return prefix, badRequest("cidr %s overlaps with that of another network", prefix)
		}
		return prefix, nil
	}
	for i := range 256 {
		if prefix := netip.MustParsePrefix(fmt.Sprintf("192.168.%d.0/24", i)); !overlaps(prefix) {
			return prefix, nil
		}
	}
	return netip.Prefix{}, badRequest("no network is free")
}

func (p *power) dhcpServer(w *instance, r *call) (*dhcpServer, error) {
	d, found := p.dhcpServers.byID(w.id, r.PathValue("id"))
	if !found {
		return nil, refuse(http.StatusNotFound, "", "dhcp server %s does not exist", r.PathValue("id"))
	}
	return d, nil
}

func (p *power) listDHCPServers(w *instance, r *call) (reply, error) {
	views := []any{}
	for _, d := range p.dhcpServers.within(w.id) {
		views = append(views, d.view(d.Status(r.now)))
	}
	return ok(views)
}

// getDHCPServer is the only answer with leases.
func (p *power) getDHCPServer(w *instance, r *call) (reply, error) {
	d, err := p.dhcpServer(w, r)
	if err != nil {
		return reply{}, err
	}
	view, leases := d.view(d.Status(r.now)), []any{}
	for _, s := range p.servers.within(w.id) {
		if port, attached := s.port(d.network); attached && s.up(r.now.Add(-d.lease)) {
			leases = append(leases, map[string]string{"instanceIP": port.address.String(), "instanceMacAddress": port.mac})
		}
	}
	view["leases"] = leases
	return ok(view)
}

// deleteDHCPServer takes the network with it.
func (p *power) deleteDHCPServer(w *instance, r *call) (reply, error) {
	d, err := p.dhcpServer(w, r)
	if err != nil {
		return reply{}, err
	}
	if p.attached(d.network) {
		return reply{}, badRequest("network %s of the dhcp server is in use by pvm-instances", d.network.id)
	}
	d.Delete(r.now, p.cloud.config.Times.DHCPServerDelete.Duration)
	return reply{status: http.StatusAccepted, body: map[string]any{}}, nil
}

// view is what a list shows.
func (d *dhcpServer) view(status string) map[string]any {
	return map[string]any{
		"id": d.id, "status": status, "network": map[string]string{"id": d.network.id, "name": d.network.name},
	}
}
