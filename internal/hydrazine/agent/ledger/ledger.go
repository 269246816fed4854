// Package ledger is the agent's record of its assignments: which resource has which port of a host, and until when.
//
// A Ledger is a value without a clock or a file. Times count from the start of the DPU, so that setting its clock
// doesn't make a lease longer.
package ledger

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// Why an attachment is refused.
var (
	ErrGeneration  = errors.New("another caller has decided on the port since")
	ErrOtherGroup  = errors.New("the DPU is on the network of another group")
	ErrSecondPlace = errors.New("it has another port of this DPU")
	ErrHeld        = errors.New("isolate it first")
	ErrTime        = errors.New("it has ended, or has not begun")
)

// Assignment is a host's place on a network.
type Assignment struct {
	Network     Network
	Resource    string // UID
	LogicalPort string
	Host        Host
}

// Host is the host behind a port. It is empty if an older controller hasn't said it.
type Host struct {
	MAC       string       `json:"mac,omitempty"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// Network is what the DPU is on. All its ports share it.
type Network struct {
	Group      string     `json:"group"` // UID
	Southbound string     `json:"southbound"`
	EncapIP    netip.Addr `json:"encapIP"`
	Relay      Relay      `json:"relay,omitzero"`
	// Certificate and Authorities are for TLS to the southbound database, PEM.
	Certificate string `json:"certificate,omitempty"`
	Authorities string `json:"authorities,omitempty"`
}

// Relay relays DHCP requests of hosts. Without an interface there is none.
type Relay struct {
	Interface   string     `json:"interface"`
	LogicalPort string     `json:"logicalPort"`
	MAC         string     `json:"mac"`
	Address     netip.Addr `json:"address,omitzero"`
	Server      netip.Addr `json:"server"`
	LinkAddress netip.Addr `json:"linkAddress"`
}

// Port is a port of a host. Without a resource it is isolated.
type Port struct {
	Generation  uint64        `json:"generation"`
	Resource    string        `json:"resource,omitempty"`
	LogicalPort string        `json:"logicalPort,omitempty"`
	Host        Host          `json:"host,omitzero"`
	Expires     time.Duration `json:"expires,omitempty"` // since the DPU was started
	Until       time.Time     `json:"until,omitzero"`    // the same, in readable form: by the clock that the DPU had then
}

// Ledger of all ports. Network is empty when no port is assigned.
type Ledger struct {
	Network Network         `json:"network,omitzero"`
	Ports   map[string]Port `json:"ports"`
}

// Clone returns a copy that shares nothing with the original.
func (l *Ledger) Clone() *Ledger { return &Ledger{Network: l.Network, Ports: maps.Clone(l.Ports)} }

// Meet adds a port that is new to the ledger, as isolated. Its generation starts at first.
func (l *Ledger) Meet(port string, first uint64) {
	if _, known := l.Ports[port]; !known {
		if l.Ports == nil {
			l.Ports = map[string]Port{}
		}
		l.Ports[port] = Port{Generation: first}
	}
}

// Attach assigns a known port, or renews its lease. The generation must be the port's. A new southbound database or
// relay applies to the other ports too.
func (l *Ledger) Attach(port string, generation uint64, to Assignment, expires time.Duration, until time.Time) error {
	p := l.Ports[port]
	if p.Generation != generation {
		return fmt.Errorf("generation of %s is %d: %w", port, p.Generation, ErrGeneration)
	}
	for name, other := range l.Ports {
		switch {
		case name == port || other.Resource == "":
		case l.Network.Group != to.Network.Group:
			return fmt.Errorf("resource %s has %s in group %s: %w", other.Resource, name, l.Network.Group, ErrOtherGroup)
		case other.Resource == to.Resource || other.LogicalPort == to.LogicalPort:
			return fmt.Errorf("resource %s or logical port %s has %s: %w", to.Resource, to.LogicalPort, name, ErrSecondPlace)
		}
	}
	if p.Resource != "" && p.Resource != to.Resource {
		return fmt.Errorf("resource %s has %s: %w", p.Resource, port, ErrHeld)
	}
	moved := l.Network.Group != to.Network.Group || l.Network.Southbound != to.Network.Southbound
	for name, other := range l.Ports {
		if moved && other.Resource != "" && name != port {
			other.Generation++
			l.Ports[name] = other
		}
	}
	if moved || p.Resource != to.Resource || p.LogicalPort != to.LogicalPort {
		p.Generation++
	}
	l.Network = to.Network
	p.Resource, p.LogicalPort, p.Host, p.Expires, p.Until = to.Resource, to.LogicalPort, to.Host, expires, until
	l.Ports[port] = p
	return nil
}

// Isolate removes a resource's assignment, and reports whether anything has changed. Unassigned ports get a new
// generation too: an Attach of the resource may still be in flight.
func (l *Ledger) Isolate(resource string) bool {
	return l.release(func(p Port) bool { return p.Resource == resource || p.Resource == "" })
}

// Expire removes what wasn't renewed, and reports whether there was any.
func (l *Ledger) Expire(now time.Duration) bool {
	return l.release(func(p Port) bool { return p.Resource != "" && p.Expires <= now })
}

func (l *Ledger) release(which func(Port) bool) bool {
	released := false
	for name, p := range l.Ports {
		if which(p) {
			l.Ports[name] = Port{Generation: p.Generation + 1}
			released = true
		}
	}
	if len(l.Assigned()) == 0 {
		l.Network = Network{}
	}
	return released
}

// Assigned returns the names of the assigned ports, sorted.
func (l *Ledger) Assigned() []string {
	var names []string
	for name, p := range l.Ports {
		if p.Resource != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Next returns when the first lease ends, and whether there is one.
func (l *Ledger) Next() (time.Duration, bool) {
	var next time.Duration
	names := l.Assigned()
	for i, name := range names {
		if expires := l.Ports[name].Expires; i == 0 || expires < next {
			next = expires
		}
	}
	return next, len(names) > 0
}
