package sim

import (
	"slices"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// State is everything that exists, of all tenants, deleted objects included until they are gone.
type State struct {
	IPBlocks              []api.IPBlock              `json:"ipBlocks"`
	Allocations           []api.Allocation           `json:"allocations"`
	NetworkSecurityGroups []api.NetworkSecurityGroup `json:"networkSecurityGroups"`
	VPCs                  []api.VPC                  `json:"vpcs"`
	Subnets               []api.Subnet               `json:"subnets"`
	VPCPrefixes           []api.VPCPrefix            `json:"vpcPrefixes"`
	VPCPeerings           []api.VPCPeering           `json:"vpcPeerings"`
	Instances             []api.Instance             `json:"instances"`
	// World has the IDs of those that no client made.
	World []string `json:"world"`
	// Releases are all accepted DELETEs of instances, in their order.
	Releases []Release `json:"releases"`
	// Creating is how many creates are at work, those among them whose clients have left.
	Creating int `json:"creating"`
	// Strays are what a site made after the service had rolled it back. No client can see or delete them.
	Strays []Stray `json:"strays"`
	// Enforced has the security group that the site applies to each VPC that has one there, whatever the API shows.
	Enforced map[string]string `json:"enforced"`
}

// State returns everything that exists.
func (s *Server) State() State {
	state := State{World: []string{}, Strays: []Stray{}, Enforced: map[string]string{}}
	s.view(func(now time.Time) {
		state.IPBlocks = viewsOf(s.state.ipBlocks.Items, s.ipBlockView, now)
		state.Allocations = viewsOf(s.state.allocations.Items, s.allocationView, now)
		state.NetworkSecurityGroups = viewsOf(s.state.groups.Items, s.groupView, now)
		state.VPCs = viewsOf(s.state.vpcs.Items, s.vpcView, now)
		state.Subnets = viewsOf(s.state.subnets.Items, s.subnetView, now)
		state.VPCPrefixes = viewsOf(s.state.prefixes.Items, s.prefixView, now)
		state.VPCPeerings = viewsOf(s.state.peerings.Items, s.peeringView, now)
		state.Instances = viewsOf(s.state.instances.Items, s.instanceView, now)
		for _, v := range s.state.vpcs.Items {
			if group := v.enforced(now); group != "" {
				state.Enforced[v.id] = group
			}
		}
		state.Creating = s.state.creating
		state.Releases = slices.Clone(s.state.releases)
		for _, stray := range s.state.strays {
			state.Strays = append(state.Strays, Stray{Kind: stray.kind, Name: stray.base().name})
		}
		s.state.each(func(r resource) {
			if r.base().world {
				state.World = append(state.World, r.base().id)
			}
		})
	})
	return state
}

// Empty reports whether nothing exists any more that a client made, neither in the API nor at a site.
func (s State) Empty() bool {
	all := len(s.IPBlocks) + len(s.Allocations) + len(s.NetworkSecurityGroups) + len(s.VPCs) + len(s.Subnets) +
		len(s.VPCPrefixes) + len(s.VPCPeerings) + len(s.Instances)
	return all == len(s.World) && len(s.Strays) == 0
}
