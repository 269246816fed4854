package actuator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/memo"
)

// Places finds what provider specs name: sites, and networks in VPCs. A hundred Machines of one MachineSet ask the same, so
// an answer is kept for a while.
type Places struct {
	memo *memo.Memo[placeKey, *place]
}

// placeKey is the place in a provider spec, as an account sees it.
type placeKey struct {
	account     credentials.Account
	site        infrav1.SiteReference
	tenant, vpc string
}

// place is a VPC of a tenant at a site, with what instances can be attached to.
type place struct {
	id       string // of the site
	vpc      *bmm.VPC
	networks []network
}

// network is a subnet or a VPC prefix.
type network struct {
	id, name, status string
}

// NewPlaces returns Places that keep answers for so long, and failures for half of that.
func NewPlaces(keepFor time.Duration, clock clock.Clock) *Places {
	return &Places{memo.New[placeKey, *place](keepFor, keepFor/2, clock)}
}

// find what a spec names. The errors name the field to correct.
func (p *Places) find(ctx context.Context, api *bmm.Client, spec bmmv1.NvidiaBMMMachineProviderSpec) (*place, error) {
	key := placeKey{account: api.Account(), site: spec.SiteRef, tenant: spec.TenantID, vpc: spec.VPCID}
	return p.memo.Get(ctx, key, func(ctx context.Context) (*place, error) {
		if err := api.TenantIs(ctx, spec.TenantID); err != nil {
			return nil, err
		}
		site, err := findSite(ctx, api, spec.SiteRef)
		if err != nil {
			return nil, fault.Correct("siteRef", err)
		}
		found := &place{id: site.ID}
		if found.vpc, err = api.VPC(ctx, site.ID, spec.VPCID); err != nil {
			return nil, fault.Correct("vpcID", fmt.Errorf("VPC %s: %w", spec.VPCID, err))
		}
		if found.vpc.SiteID != site.ID {
			return nil, fault.Invalidf("VPC %s isn't at site %s: correct vpcID or siteRef", spec.VPCID, site.Name)
		}
		if found.vpc.Status != bmm.VPCReady {
			return nil, busy("VPC %s is %s", found.vpc.Name, found.vpc.Status)
		}
		found.networks, err = listNetworks(ctx, api, found.vpc)
		return found, err
	})
}

func findSite(ctx context.Context, api *bmm.Client, ref infrav1.SiteReference) (*bmm.Site, error) {
	if ref.ID != "" {
		return api.Site(ctx, ref.ID)
	}
	return api.SiteByName(ctx, ref.Name)
}

// listNetworks of a VPC: an FNN VPC has prefixes, every other one subnets.
func listNetworks(ctx context.Context, api *bmm.Client, vpc *bmm.VPC) (networks []network, _ error) {
	if vpc.NetworkVirtualizationType == bmm.FNN {
		prefixes, err := api.VPCPrefixes(ctx, bmm.VPCPrefixFilter{SiteID: vpc.SiteID, VPCID: vpc.ID})
		for _, p := range prefixes {
			networks = append(networks, network{p.ID, p.Name, string(p.Status)})
		}
		return networks, err
	}
	subnets, err := api.Subnets(ctx, bmm.SubnetFilter{SiteID: vpc.SiteID, VPCID: vpc.ID})
	for _, s := range subnets {
		networks = append(networks, network{s.ID, s.Name, string(s.Status)})
	}
	return networks, err
}

// networksOf the interfaces, in the order of the spec.
func (p *place) networksOf(spec infrav1.NetworkSpec) (ids []instance.NetworkID, _ error) {
	for _, i := range spec.Interfaces() {
		found, err := p.networkOf(i)
		if err != nil {
			return nil, err
		}
		if found.status != networkReady {
			return nil, busy("%s %s of VPC %s is %s", p.sort(), found.name, p.vpc.Name, found.status)
		}
		id := instance.NetworkID{Subnet: found.id}
		if p.isFNN() {
			id = instance.NetworkID{Prefix: found.id}
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// networkReady is the status of a subnet that can be used, and of a prefix.
const networkReady = string(bmm.SubnetReady)

// networkOf an interface: the only one of its name, or the only one that exists.
func (p *place) networkOf(i infrav1.NetworkInterface) (network, error) {
	name, field := i.SubnetName, "subnetName"
	if p.isFNN() {
		name, field = i.VPCPrefixName, "vpcPrefixName"
	}
	if name == "" && i.SubnetName+i.VPCPrefixName != "" {
		return network{}, fault.Invalidf("VPC %s is of type %s and has no such networks: use network.%s",
			p.vpc.Name, p.vpc.NetworkVirtualizationType, field)
	}
	var found []network
	for _, n := range p.networks {
		if name == "" || n.name == name {
			found = append(found, n)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case name == "":
		return network{}, fault.Invalidf("VPC %s has %d networks, and the spec names none: set network.%s", p.vpc.Name, len(found), field)
	case len(found) == 0:
		return network{}, fault.Invalidf("VPC %s has no %s %q: make it there, or correct network.%s", p.vpc.Name, p.sort(), name, field)
	}
	return network{}, fault.Invalidf("VPC %s has %d networks that are named %q: rename the others", p.vpc.Name, len(found), name)
}

func (p *place) isFNN() bool { return p.vpc.NetworkVirtualizationType == bmm.FNN }

// sort of the VPC's networks, in readable form.
func (p *place) sort() string {
	if p.isFNN() {
		return "VPC prefix"
	}
	return "subnet"
}

func busy(format string, args ...any) error {
	return &fault.Error{Class: fault.Busy, Err: fmt.Errorf(format, args...)}
}
