package overlay

import (
	"context"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

// leaseTime of hosts. They renew after half of it, so renewals can be watched.
const leaseTime = 2 * time.Minute

// Settle gives hosts their addresses, by DHCP where their group has a server, lets them and the servers answer, and returns the
// traffic that has to pass among them and that must not.
func (o *Overlay) Settle(ctx context.Context, objects Objects) ([]Flow, error) {
	members, err := o.members(objects)
	if err != nil {
		return nil, err
	}
	around := surroundings{servers: map[string][]netip.Addr{}, dpus: o.Topology().DPUs(), policy: objects.Policy}
	for _, name := range []string{fabric.DC, fabric.Internet, fabric.BMC, fabric.Storage} {
		if around.servers[name] = o.serverAddresses(name); len(around.servers[name]) == 0 {
			continue
		}
		if _, err := o.Serve(name, servedPort); err != nil {
			return nil, err
		}
	}
	around.servers[fabric.Control] = o.serverAddresses(fabric.Control) // which serves on its own
	if err := o.reserve(ctx, members); err != nil {
		return nil, err
	}
	var group errgroup.Group
	for _, m := range members {
		group.Go(func() error { return o.settle(ctx, m) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return flows(members, around), nil
}

// reserve all addresses that are to be leased.
func (o *Overlay) reserve(ctx context.Context, members []member) error {
	var all []Reservation
	for _, m := range members {
		if a := m.addresses[0]; m.leased {
			all = append(all, Reservation{Circuit: m.circuit, MAC: m.host.MAC.String(), Address: a.ip, Network: a.network, Gateway: a.gateway})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return o.StartDHCP(ctx, leaseTime, all)
}

// settle one host. The DHCP server knows IPv4 only.
func (o *Overlay) settle(ctx context.Context, m member) error {
	for i, a := range m.addresses {
		err := error(nil)
		if m.leased && i == 0 {
			err = o.Lease(ctx, m.host.Name)
		} else {
			err = o.Configure(m.host.Name, netip.PrefixFrom(a.ip, a.network.Bits()), a.gateway)
		}
		if err != nil {
			return err
		}
	}
	for _, port := range []uint16{servedPort, otherPort} {
		if _, err := o.Serve(m.host.Name, port); err != nil {
			return err
		}
	}
	return nil
}
