package vswitch

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/openvswitch"
	"github.com/bedplate/bedplate/internal/openvswitch/vswitchd"
)

const (
	// groupKey is the group whose flows are on the integration bridge.
	groupKey = "bedplate.dev/resource-group"
	// interfaceKey identifies an interface in OVN, and installedKey is set when the flows are there.
	interfaceKey, installedKey = "iface-id", "ovn-installed"
	zonePrefix                 = "ct-zone-"
	// waitKey is how long, in milliseconds, a starting ovn-controller leaves the flows that it finds.
	waitKey, waitBeforeClear = "ovn-ofctrl-wait-before-clear", "5000"
)

// Integration is the bridge that OVN has its flows on.
type Integration struct {
	DatapathType string
	Group        string
	Southbound   string
	EncapIP      netip.Addr
	Ports        map[string]string // logical port by interface
	Relay        RelayPort         // without a name there is none
	// Restart says that ovn-controller is about to be started. If the bridge has flows already, they may be in use: it has
	// to keep them until it knows which ones it needs. Otherwise it clears them all first.
	Restart bool
}

// RelayPort is the interface that hosts reach the DHCP relay by. The kernel sees it.
type RelayPort struct {
	Name, LogicalPort, MAC string
}

// Other reports whether the integration bridge is there for another group: then nothing of it may stay.
func (d *Database) Other(group string) (bool, error) {
	found, err := d.snapshot()
	if err != nil {
		return false, err
	}
	bridge := found.Bridges[IntegrationBridge]
	return bridge != nil && bridge.ExternalIDs[groupKey] != group, nil
}

// EnsureIntegration creates the integration bridge, puts the ports on it, and configures where ovn-controller connects.
func (d *Database) EnsureIntegration(ctx context.Context, w Integration) error {
	found, err := d.snapshot()
	if err != nil {
		return err
	}
	c := d.Change()
	bridge, exists := found.Bridges[IntegrationBridge]
	if !exists {
		bridge = &vswitchd.Bridge{
			UUID: "integration", Name: IntegrationBridge, DatapathType: w.DatapathType,
			FailMode:    ptr.To(vswitchd.BridgeFailModeSecure),
			OtherConfig: map[string]string{"disable-in-band": "true"}, ExternalIDs: map[string]string{groupKey: w.Group},
		}
	}
	added := found.reconcilePorts(c, bridge, w.interfaces())
	if exists {
		found.secure(c, bridge)
		if len(added) > 0 {
			c.Mutate(bridge, model.Mutation{Field: &bridge.Ports, Mutator: ovsdb.MutateOperationInsert, Value: added})
		}
	} else {
		bridge.Ports = added
		c.CreateBridge(found.Root, bridge, nil)
	}
	settings := map[string]string{
		"ovn-remote": w.Southbound, "ovn-encap-type": "geneve", "ovn-encap-ip": w.EncapIP.String(),
		"ovn-bridge-datapath-type": w.DatapathType,
	}
	switch {
	case !exists: // there is nothing to keep, so don't wait
		settings[waitKey] = ""
	case w.Restart:
		settings[waitKey] = waitBeforeClear
	}
	c.Set(found.Root, &found.Root.ExternalIDs, settings)
	found.withoutZeroSNAT(c, w.DatapathType)
	if err := c.Commit(ctx); err != nil {
		return fmt.Errorf("prepare %s: %w", IntegrationBridge, err)
	}
	return d.repairDatapath(ctx, w.DatapathType)
}

// interfaces returns those that are to be on the bridge besides OVN's own, by name.
func (w Integration) interfaces() map[string]*vswitchd.Interface {
	wanted := map[string]*vswitchd.Interface{}
	for name, logical := range w.Ports {
		wanted[name] = &vswitchd.Interface{Name: name, ExternalIDs: map[string]string{interfaceKey: logical}}
	}
	if r := w.Relay; r.Name != "" {
		wanted[r.Name] = &vswitchd.Interface{
			Name: r.Name, Type: openvswitch.Internal, MAC: &r.MAC, ExternalIDs: map[string]string{interfaceKey: r.LogicalPort},
		}
	}
	return wanted
}

// reconcilePorts renames what was assigned to another resource, creates what is missing, and returns the rows of the
// latter.
func (s *snapshot) reconcilePorts(
	c *openvswitch.Change, bridge *vswitchd.Bridge, wanted map[string]*vswitchd.Interface,
) (added []string) {
	there := map[string]bool{}
	for _, p := range s.hostPorts(bridge) {
		w, ok := wanted[p.Name]
		i := s.Single(p)
		if !ok || i == nil || (i.Type == openvswitch.Internal) != (w.Type == openvswitch.Internal) {
			continue
		}
		there[p.Name] = true
		if i.ExternalIDs[interfaceKey] != w.ExternalIDs[interfaceKey] {
			i.ExternalIDs = w.ExternalIDs // no flows are installed for the new one
			c.Update(i, &i.ExternalIDs)
		}
		if w.MAC != nil && ptr.Deref(i.MAC, "") != *w.MAC {
			i.MAC = w.MAC
			c.Update(i, &i.MAC)
		}
	}
	for name, i := range wanted {
		if there[name] {
			continue
		}
		s.Release(c, name)
		row := fmt.Sprintf("host_%d", len(added))
		added = append(added, row)
		i.UUID = row + "_i"
		c.Create(i, &vswitchd.Port{UUID: row, Name: name, Interfaces: []string{i.UUID}})
	}
	return added
}

// hostPorts returns the ports of the integration bridge that are neither its own nor OVN's: those of hosts, and the relay's.
func (s *snapshot) hostPorts(bridge *vswitchd.Bridge) []*vswitchd.Port {
	return slices.DeleteFunc(s.PortsOf(bridge), func(p *vswitchd.Port) bool {
		i := s.Single(p)
		return i != nil && (p.Name == bridge.Name || slices.Contains([]string{"patch", "geneve", "stt", "vxlan"}, i.Type))
	})
}

// secure repairs the setting that keeps an integration bridge without flows from forwarding like a switch.
func (s *snapshot) secure(c *openvswitch.Change, bridge *vswitchd.Bridge) {
	if ptr.Deref(bridge.FailMode, "") != vswitchd.BridgeFailModeSecure {
		bridge.FailMode = ptr.To(vswitchd.BridgeFailModeSecure)
		c.Update(bridge, &bridge.FailMode)
	}
	c.Set(bridge, &bridge.OtherConfig, map[string]string{"disable-in-band": "true"})
}

// Release removes from the integration bridge what is neither OVN's nor kept, and the named ports from every bridge.
func (d *Database) Release(ctx context.Context, keep map[string]string, ports []string) error {
	found, err := d.snapshot()
	if err != nil {
		return err
	}
	c := d.Change()
	bridge := found.Bridges[IntegrationBridge]
	for _, p := range found.hostPorts(bridge) {
		if _, ok := keep[p.Name]; !ok {
			c.Remove(bridge, p.UUID)
		}
	}
	for _, name := range ports {
		found.Release(c, name)
	}
	if err := c.Commit(ctx); err != nil {
		return fmt.Errorf("take the ports away: %w", err)
	}
	return nil
}

// DeleteIntegration deletes the integration bridge with all flows, and what ovn-controller would connect to.
func (d *Database) DeleteIntegration(ctx context.Context) error {
	found, err := d.snapshot()
	if err != nil {
		return err
	}
	c := d.Change()
	if bridge := found.Bridges[IntegrationBridge]; bridge != nil {
		c.Mutate(found.Root, model.Mutation{
			Field: &found.Root.Bridges, Mutator: ovsdb.MutateOperationDelete, Value: []string{bridge.UUID},
		})
	}
	if transport := found.Bridges[TransportBridge]; transport != nil {
		for _, p := range found.PortsOf(transport) { // a killed ovn-controller leaves its patch ports
			if i := found.Single(p); i != nil && i.Type == "patch" {
				c.Remove(transport, p.UUID)
			}
		}
	}
	c.Set(found.Root, &found.Root.ExternalIDs, map[string]string{"ovn-remote": "", "ovn-encap-ip": ""})
	if err := c.Commit(ctx); err != nil {
		return fmt.Errorf("delete %s: %w", IntegrationBridge, err)
	}
	return nil
}

// Zones returns the zones of connection tracking that OVN uses, by the name of the port or router that each belongs to.
func (d *Database) Zones() (map[string]string, error) {
	found, err := d.snapshot()
	if err != nil {
		return nil, err
	}
	zones := map[string]string{}
	if bridge := found.Bridges[IntegrationBridge]; bridge != nil {
		for key, zone := range bridge.ExternalIDs {
			if owner, ok := strings.CutPrefix(key, zonePrefix); ok {
				zones[owner] = zone
			}
		}
	}
	return zones, nil
}
