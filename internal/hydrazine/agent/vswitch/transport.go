package vswitch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/vswitchd"
)

// Names that the agent gives.
const (
	TransportBridge   = "br-transport"
	IntegrationBridge = "br-int"
	// physicalNetwork is the name of the fabric in OVN's localnet ports.
	physicalNetwork = "fabric"
	bondPort        = "uplinks"
)

// Transport is the bridge to the fabric.
type Transport struct {
	DatapathType string
	Uplinks      []string
	LACP         bool   // several uplinks are one link of the switch; otherwise one carries all and the others are standby
	MAC          string // of the bridge
	MTU          int
	Chassis      string // the DPU's name in OVN; by default the existing one, or else Hostname
	Hostname     string
}

// EnsureTransport creates the bridge to the fabric and moves the uplinks to it, from any other bridge.
func (d *Database) EnsureTransport(ctx context.Context, t Transport) error {
	found, err := d.snapshot()
	if err != nil {
		return err
	}
	c := &change{database: d}
	bridge, exists := found.bridges[TransportBridge]
	if !exists {
		bridge = &vswitchd.Bridge{UUID: "transport", Name: TransportBridge}
	}
	if !found.hasUplinks(bridge, t) {
		for _, uplink := range t.Uplinks {
			found.release(c, uplink)
		}
		port := t.uplinkPort(c)
		if exists {
			c.mutate(bridge, model.Mutation{Field: &bridge.Ports, Mutator: ovsdb.MutateOperationInsert, Value: []string{port}})
		} else {
			bridge.Ports = []string{port}
		}
	}
	if exists { // its MAC stays: the fabric knows it
		found.setMTU(c, bridge, t.MTU)
	} else {
		bridge.DatapathType, bridge.OtherConfig = t.DatapathType, map[string]string{"hwaddr": t.MAC}
		c.createBridge(found.root, bridge, &t.MTU)
	}
	c.set(found.root, &found.root.ExternalIDs, map[string]string{
		"system-id":           cmp.Or(t.Chassis, found.root.ExternalIDs["system-id"], t.Hostname),
		"ovn-bridge-mappings": physicalNetwork + ":" + TransportBridge,
	})
	if err := c.commit(ctx); err != nil {
		return fmt.Errorf("prepare %s: %w", TransportBridge, err)
	}
	return nil
}

// hasUplinks reports whether a port of the bridge has exactly these uplinks, with the same settings.
func (s *snapshot) hasUplinks(bridge *vswitchd.Bridge, t Transport) bool {
	return slices.ContainsFunc(s.portsOf(bridge), func(p *vswitchd.Port) bool {
		var names []string
		for _, i := range s.members(p) {
			names = append(names, i.Name)
		}
		slices.Sort(names)
		lacp := ptr.Deref(p.LACP, "") == vswitchd.PortLACPActive
		return slices.Equal(names, slices.Sorted(slices.Values(t.Uplinks))) && (len(names) == 1 || lacp == t.LACP)
	})
}

// release removes an interface from any bridge.
func (s *snapshot) release(c *change, name string) {
	for _, bridge := range s.bridges {
		for _, p := range s.portsOf(bridge) {
			if slices.ContainsFunc(s.members(p), func(i *vswitchd.Interface) bool { return i.Name == name }) {
				c.remove(bridge, p.UUID)
			}
		}
	}
}

// uplinkPort creates the port with the uplinks, and returns its name in the transaction.
func (t Transport) uplinkPort(c *change) string {
	port := &vswitchd.Port{UUID: "uplink_port", Name: t.Uplinks[0]}
	for i, uplink := range t.Uplinks {
		member := &vswitchd.Interface{UUID: fmt.Sprintf("uplink_%d", i), Name: uplink}
		port.Interfaces = append(port.Interfaces, member.UUID)
		c.create(member)
	}
	if len(t.Uplinks) > 1 {
		port.Name, port.BondMode = bondPort, ptr.To(vswitchd.PortBondModeActiveBackup)
		if t.LACP {
			port.BondMode, port.LACP = ptr.To(vswitchd.PortBondModeBalanceTCP), ptr.To(vswitchd.PortLACPActive)
		}
	}
	c.create(port)
	return port.UUID
}

// createBridge adds a bridge with its local port, which the kernel sees as an interface of the bridge's name.
func (c *change) createBridge(root *vswitchd.OpenvSwitch, bridge *vswitchd.Bridge, mtu *int) {
	local := &vswitchd.Interface{UUID: bridge.UUID + "_local", Name: bridge.Name, Type: internalType, MTURequest: mtu}
	port := &vswitchd.Port{UUID: bridge.UUID + "_port", Name: bridge.Name, Interfaces: []string{local.UUID}}
	bridge.Ports = append(bridge.Ports, port.UUID)
	c.create(local, port, bridge)
	c.mutate(root, model.Mutation{Field: &root.Bridges, Mutator: ovsdb.MutateOperationInsert, Value: []string{bridge.UUID}})
}

func (s *snapshot) setMTU(c *change, bridge *vswitchd.Bridge, mtu int) {
	for _, p := range s.portsOf(bridge) {
		if local := s.single(p); p.Name == bridge.Name && local != nil && ptr.Deref(local.MTURequest, 0) != mtu {
			local.MTURequest = &mtu
			c.update(local, &local.MTURequest)
		}
	}
}
