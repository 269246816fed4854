package openvswitch

import (
	"slices"

	"github.com/bedplate/bedplate/internal/openvswitch/vswitchd"
)

// Snapshot of the database.
type Snapshot struct {
	Root       *vswitchd.OpenvSwitch
	Bridges    map[string]*vswitchd.Bridge    // by name
	Ports      map[string]*vswitchd.Port      // by UUID
	Interfaces map[string]*vswitchd.Interface // by UUID
	Datapaths  map[string]*vswitchd.Datapath  // by UUID
}

// Snapshot returns what there is now.
func (d *Database) Snapshot() (*Snapshot, error) {
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	var bridges []*vswitchd.Bridge
	var ports []*vswitchd.Port
	var interfaces []*vswitchd.Interface
	var datapaths []*vswitchd.Datapath
	if err := d.list(&bridges, &ports, &interfaces, &datapaths); err != nil {
		return nil, err
	}
	s := &Snapshot{
		Root: root, Bridges: map[string]*vswitchd.Bridge{},
		Ports: map[string]*vswitchd.Port{}, Interfaces: map[string]*vswitchd.Interface{},
		Datapaths: map[string]*vswitchd.Datapath{},
	}
	for _, b := range bridges {
		s.Bridges[b.Name] = b
	}
	for _, p := range ports {
		s.Ports[p.UUID] = p
	}
	for _, i := range interfaces {
		s.Interfaces[i.UUID] = i
	}
	for _, dp := range datapaths {
		s.Datapaths[dp.UUID] = dp
	}
	return s, nil
}

// Members returns the interfaces of a port.
func (s *Snapshot) Members(p *vswitchd.Port) []*vswitchd.Interface {
	var members []*vswitchd.Interface
	for _, id := range p.Interfaces {
		if i := s.Interfaces[id]; i != nil {
			members = append(members, i)
		}
	}
	return members
}

// PortsOf returns the ports of a bridge; a bridge that isn't there has none.
func (s *Snapshot) PortsOf(b *vswitchd.Bridge) []*vswitchd.Port {
	var ports []*vswitchd.Port
	if b != nil {
		for _, id := range b.Ports {
			if p := s.Ports[id]; p != nil {
				ports = append(ports, p)
			}
		}
	}
	return ports
}

// Single returns the interface of a port that has just one, under the port's name; otherwise nil.
func (s *Snapshot) Single(p *vswitchd.Port) *vswitchd.Interface {
	if members := s.Members(p); len(members) == 1 && members[0].Name == p.Name {
		return members[0]
	}
	return nil
}

// Release removes an interface from any bridge.
func (s *Snapshot) Release(c *Change, name string) {
	for _, bridge := range s.Bridges {
		for _, p := range s.PortsOf(bridge) {
			if slices.ContainsFunc(s.Members(p), func(i *vswitchd.Interface) bool { return i.Name == name }) {
				c.Remove(bridge, p.UUID)
			}
		}
	}
}
