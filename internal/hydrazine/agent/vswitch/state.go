package vswitch

import (
	"slices"
	"strconv"

	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/openvswitch/vswitchd"
)

// State is what the agent reports of Open vSwitch.
type State struct {
	Chassis     string
	TunnelTypes []string
	Ports       map[string]PortState
	Written     Change
}

// Change is one of a group's that ovn-controller has written the flows of. Zero: none is known.
type Change struct {
	Group  string
	Number int64
}

// numberKey is set after the flows are on the integration bridge.
const numberKey = "ovn-nb-cfg"

// PortState is a port on the integration bridge.
type PortState struct {
	LogicalPort string
	Installed   bool   // OVN has put its flows onto the bridge
	Problem     string // as ovs-vswitchd reports it
}

// State returns the current state. Only ports on the integration bridge are in it.
func (d *Database) State() (State, error) {
	found, err := d.snapshot()
	if err != nil {
		return State{}, err
	}
	bridge := found.Bridges[IntegrationBridge]
	state := State{
		Chassis: found.Root.ExternalIDs["system-id"], Ports: map[string]PortState{},
	}
	if slices.Contains(found.Root.IfaceTypes, "geneve") {
		state.TunnelTypes = []string{"geneve"}
	}
	if bridge == nil {
		return state, nil
	}
	if number, err := strconv.ParseInt(bridge.ExternalIDs[numberKey], 10, 64); err == nil {
		state.Written = Change{bridge.ExternalIDs[groupKey], number}
	}
	for _, p := range found.hostPorts(bridge) {
		if i := found.Single(p); i != nil {
			state.Ports[p.Name] = portState(i)
		}
	}
	return state, nil
}

func portState(i *vswitchd.Interface) PortState {
	return PortState{
		LogicalPort: i.ExternalIDs[interfaceKey],
		Installed:   i.ExternalIDs[installedKey] == "true",
		Problem:     ptr.Deref(i.Error, ""),
	}
}
