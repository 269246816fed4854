package vswitch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/openvswitch"
	"github.com/bedplate/bedplate/internal/openvswitch/vswitchd"
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
	c := d.Change()
	bridge, exists := found.Bridges[TransportBridge]
	if !exists {
		bridge = &vswitchd.Bridge{UUID: "transport", Name: TransportBridge}
	}
	if !found.hasUplinks(bridge, t) {
		for _, uplink := range t.Uplinks {
			found.Release(c, uplink)
		}
		port := t.uplinkPort(c)
		if exists {
			c.Mutate(bridge, model.Mutation{Field: &bridge.Ports, Mutator: ovsdb.MutateOperationInsert, Value: []string{port}})
		} else {
			bridge.Ports = []string{port}
		}
	}
	if exists { // its MAC stays: the fabric knows it
		found.setMTU(c, bridge, t.MTU)
	} else {
		bridge.DatapathType, bridge.OtherConfig = t.DatapathType, map[string]string{"hwaddr": t.MAC}
		c.CreateBridge(found.Root, bridge, &t.MTU)
	}
	c.Set(found.Root, &found.Root.ExternalIDs, map[string]string{
		"system-id":           cmp.Or(t.Chassis, found.Root.ExternalIDs["system-id"], t.Hostname),
		"ovn-bridge-mappings": physicalNetwork + ":" + TransportBridge,
	})
	if err := c.Commit(ctx); err != nil {
		return fmt.Errorf("prepare %s: %w", TransportBridge, err)
	}
	return nil
}

// hasUplinks reports whether a port of the bridge has exactly these uplinks, with the same settings.
func (s *snapshot) hasUplinks(bridge *vswitchd.Bridge, t Transport) bool {
	return slices.ContainsFunc(s.PortsOf(bridge), func(p *vswitchd.Port) bool {
		var names []string
		for _, i := range s.Members(p) {
			names = append(names, i.Name)
		}
		slices.Sort(names)
		lacp := ptr.Deref(p.LACP, "") == vswitchd.PortLACPActive
		return slices.Equal(names, slices.Sorted(slices.Values(t.Uplinks))) && (len(names) == 1 || lacp == t.LACP)
	})
}

// uplinkPort creates the port with the uplinks, and returns its name in the transaction.
func (t Transport) uplinkPort(c *openvswitch.Change) string {
	port := &vswitchd.Port{UUID: "uplink_port", Name: t.Uplinks[0]}
	for i, uplink := range t.Uplinks {
		member := &vswitchd.Interface{UUID: fmt.Sprintf("uplink_%d", i), Name: uplink}
		port.Interfaces = append(port.Interfaces, member.UUID)
		c.Create(member)
	}
	if len(t.Uplinks) > 1 {
		port.Name, port.BondMode = bondPort, ptr.To(vswitchd.PortBondModeActiveBackup)
		if t.LACP {
			port.BondMode, port.LACP = ptr.To(vswitchd.PortBondModeBalanceTCP), ptr.To(vswitchd.PortLACPActive)
		}
	}
	c.Create(port)
	return port.UUID
}

func (s *snapshot) setMTU(c *openvswitch.Change, bridge *vswitchd.Bridge, mtu int) {
	for _, p := range s.PortsOf(bridge) {
		if local := s.Single(p); p.Name == bridge.Name && local != nil && ptr.Deref(local.MTURequest, 0) != mtu {
			local.MTURequest = &mtu
			c.Update(local, &local.MTURequest)
		}
	}
}
