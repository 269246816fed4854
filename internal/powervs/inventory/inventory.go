// Package inventory knows the virtual machines of workspaces with their addresses, from one list per workspace and interval that all
// callers share.
package inventory

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/inventory"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// Inventory of the virtual machines of all workspaces that have callers.
type Inventory struct {
	*inventory.Inventory[login, ibm.Server]

	mu sync.Mutex
	// tags of virtual machines, by workspace and ID: no list shows them. They are read once, so whoever deletes something reads them again.
	tags map[ibm.Workspace]map[string][]string
}

// login is a client, and the region of PowerVS in which it lists.
type login struct {
	*ibm.Client
	region string
}

// Silent is the error if PowerVS is known not to answer there.
func (l login) Silent() error { return l.Client.Silent(ibm.ServicePowerVS, l.region) }

func at(api *ibm.Client, in ibm.Workspace) login { return login{api, ibm.PowerVSRegion(in.Zone)} }

// Status of a virtual machine.
const (
	StatusActive  = "ACTIVE"
	StatusError   = "ERROR"
	StatusShutoff = "SHUTOFF"
)

// New returns an inventory.
func New(interval time.Duration, clock clock.PassiveClock) *Inventory {
	v := &Inventory{tags: map[ibm.Workspace]map[string][]string{}}
	v.Inventory = inventory.New(inventory.Service[login, ibm.Server]{
		Items: "virtual machines",
		List:  v.list,
		Get: func(ctx context.Context, api login, site, id string) (*ibm.Server, error) {
			return v.get(ctx, api.Client, workspaceOf(site), id)
		},
		ID:      func(s *ibm.Server) string { return s.ID },
		Settled: settled,
		Slim:    func(s ibm.Server) ibm.Server { s.UserTags = nil; return s },
		Same:    func(a, b ibm.Server) bool { return reflect.DeepEqual(a, b) },
	}, interval, clock)
	return v
}

// Of is a virtual machine with its tags and addresses, at most an interval ago. The errors are those of the client.
func (v *Inventory) Of(ctx context.Context, api *ibm.Client, in ibm.Workspace, id string) (*ibm.Server, error) {
	server, err := v.Get(ctx, at(api, in), siteOf(in), id)
	if err != nil {
		return nil, err
	}
	if tags, known := v.tagsOf(in, id); known {
		server.UserTags = tags
		return server, nil
	}
	whole, err := v.get(ctx, api, in, id)
	if err != nil {
		return nil, err
	}
	v.Made(api, in, whole)
	return whole, nil
}

// Made records a virtual machine that the caller has just got from the service.
func (v *Inventory) Made(api *ibm.Client, in ibm.Workspace, server *ibm.Server) {
	v.remember(in, server)
	v.Put(at(api, in), siteOf(in), server)
}

// Changing records that a virtual machine is being changed.
func (v *Inventory) Changing(api *ibm.Client, in ibm.Workspace, id string) {
	v.Touch(at(api, in), siteOf(in), id)
}

func siteOf(in ibm.Workspace) string { return in.Zone + "/" + in.ID }

func workspaceOf(site string) ibm.Workspace {
	zone, id, _ := strings.Cut(site, "/")
	return ibm.Workspace{Zone: zone, ID: id}
}

func (v *Inventory) get(ctx context.Context, api *ibm.Client, in ibm.Workspace, id string) (*ibm.Server, error) {
	server, err := api.Server(ctx, in, id)
	if err != nil {
		return nil, err
	}
	v.remember(in, server)
	return server, addressed(ctx, api, in, []*ibm.Server{server})
}

func (v *Inventory) list(ctx context.Context, api login, site string) ([]ibm.Server, error) {
	in := workspaceOf(site)
	all, err := api.Servers(ctx, in)
	if err != nil {
		return nil, err
	}
	servers := make([]*ibm.Server, len(all))
	for i := range all {
		servers[i] = &all[i]
	}
	v.forgetOthers(in, all)
	return all, addressed(ctx, api.Client, in, servers)
}

func (v *Inventory) tagsOf(in ibm.Workspace, id string) (tags []string, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	tags, known = v.tags[in][id]
	return tags, known
}

func (v *Inventory) remember(in ibm.Workspace, server *ibm.Server) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tags[in] == nil {
		v.tags[in] = map[string][]string{}
	}
	v.tags[in][server.ID] = server.UserTags
}

// forgetOthers forgets the tags of what a list doesn't have any more.
func (v *Inventory) forgetOthers(in ibm.Workspace, listed []ibm.Server) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.tags[in], func(id string, _ []string) bool {
		return !slices.ContainsFunc(listed, func(s ibm.Server) bool { return s.ID == id })
	})
	if len(v.tags[in]) == 0 {
		delete(v.tags, in)
	}
}

// addressed fills in the addresses that only the workspace's DHCP servers know.
func addressed(ctx context.Context, api *ibm.Client, in ibm.Workspace, servers []*ibm.Server) error {
	lacking := map[string][]*ibm.ServerNetwork{} // by network
	for _, s := range servers {
		for i := range s.Networks {
			if n := &s.Networks[i]; n.IP == "" && s.Status == StatusActive {
				lacking[n.ID] = append(lacking[n.ID], n)
			}
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	all, err := api.DHCPServers(ctx, in)
	if err != nil {
		return err
	}
	for _, d := range all {
		if len(lacking[d.Network.ID]) == 0 {
			continue
		}
		whole, err := api.DHCPServer(ctx, in, d.ID)
		if fault.IsNotFound(err) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		for _, n := range lacking[d.Network.ID] {
			n.IP = leased(whole.Leases, n.MAC)
		}
	}
	return nil
}

// settled reports whether a virtual machine isn't in transition: one that is active has its addresses.
func settled(s *ibm.Server) bool {
	switch s.Status {
	case StatusActive:
		return s.TaskState == "" && !slices.ContainsFunc(s.Networks, func(n ibm.ServerNetwork) bool { return n.IP == "" })
	case StatusError, StatusShutoff:
		return s.TaskState == ""
	}
	return false
}

// leased is the address that a DHCP server has given to a MAC address; empty if none.
func leased(leases []ibm.Lease, mac string) string {
	i := slices.IndexFunc(leases, func(l ibm.Lease) bool { return strings.EqualFold(l.MAC, mac) })
	if i < 0 {
		return ""
	}
	return leases[i].IP
}
