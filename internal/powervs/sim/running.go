package sim

import (
	"encoding/base64"
	"net/netip"
	"time"
)

// Machine is a server that is on, as who could look into the data centre would see it.
type Machine struct {
	ID   string
	Name string
	// WorkspaceID and Workspace are the ID and the name of the workspace it is in.
	WorkspaceID string
	Workspace   string
	// Address is that of its first network.
	Address  netip.Addr
	UserData []byte
}

// Machines are the servers that are on: active, and not being deleted.
func (c *Cloud) Machines() []Machine {
	var on []Machine
	c.view(func(now time.Time) {
		for _, s := range c.power.servers.Items {
			if !s.up(now) || !s.Deleted.IsZero() || s.Status(now) == "SHUTOFF" {
				continue
			}
			data, _ := base64.StdEncoding.DecodeString(s.request.UserData) // checked when it was made
			on = append(on, Machine{
				ID: s.id, Name: s.name, WorkspaceID: s.workspace.id, Workspace: s.workspace.name, Address: s.ports[0].address, UserData: data,
			})
		}
	})
	return on
}

// Listeners are where load balancers listen, and the members of the pools that connections go to from there. What isn't active does
// nothing: neither a listener nor a member.
func (c *Cloud) Listeners() map[netip.AddrPort][]netip.AddrPort {
	listening := map[netip.AddrPort][]netip.AddrPort{}
	c.view(func(now time.Time) {
		for _, l := range c.vpc.listeners.Items {
			if status := l.of.Status(now); l.Status(now) != balancing.ready || status != balancing.ready && status != "update_pending" {
				continue
			}
			members := []netip.AddrPort{}
			for _, m := range c.vpc.members.Items {
				if m.pool == l.pool && m.Status(now) == balancing.ready {
					members = append(members, netip.AddrPortFrom(m.address, uint16(m.port))) //nolint:gosec // checked when it was made
				}
			}
			listening[netip.AddrPortFrom(l.of.address, uint16(l.Port))] = members //nolint:gosec // checked when it was made
		}
	})
	return listening
}
