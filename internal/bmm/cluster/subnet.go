package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

func subnetKind(api *bmm.Client, service *graph.Service) *graph.Kind[bmm.Subnet] {
	return &graph.Kind[bmm.Subnet]{
		Name: "subnet", Service: service, Within: []string{kindSite}, Site: kindSite,
		ID:  func(s *bmm.Subnet) string { return s.ID },
		Tag: func(s *bmm.Subnet) graph.Tag { return tag.FromName(subnetKey, s.Name) },
		Get: func(ctx context.Context, id string, in graph.Scope) (*bmm.Subnet, error) {
			return api.Subnet(ctx, in[kindSite], id)
		},
		Find: func(ctx context.Context, key graph.Key) ([]bmm.Subnet, error) {
			return api.Subnets(ctx, bmm.SubnetFilter{SiteID: key.Scope[kindSite], Query: key.Owner})
		},
		Phase: func(s *bmm.Subnet) phases.Phase {
			return phaseOf("subnet", s.Name, s.ID, s.Status, bmm.SubnetReady)
		},
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteSubnet(ctx, in[kindSite], id)
		},
	}
}

func (n *networks) wantSubnet(spec infrav1.SubnetSpec) *graph.Handle[bmm.Subnet] {
	var subnet *graph.Handle[bmm.Subnet]
	subnet = graph.Add(n.graph, n.kinds.Subnet, graph.Want[bmm.Subnet]{
		Key: subnetKey + "/" + spec.Name, Condition: infrav1.SubnetsReadyCondition, After: []graph.Ref{n.vpc, n.ipBlock, n.shown},
		Lock: n.ipBlockLock,
		Create: func(_ context.Context, key graph.Key) (graph.Call[bmm.Subnet], error) {
			length := prefixLength(spec.PrefixLength, spec.CIDR)
			if err := fits("subnet", spec.Name, spec.CIDR, length, n.ipBlock.Object()); err != nil {
				return nil, err
			}
			request := bmm.SubnetCreateRequest{
				Name: tag.Name(key), VPCID: n.vpc.ID(), Ipv4BlockID: n.ipBlock.ID(), PrefixLength: length,
			}
			return func(ctx context.Context) (*bmm.Subnet, error) { return n.api.CreateSubnet(ctx, request) }, nil
		},
		Update: func(s *bmm.Subnet) graph.Update {
			u := n.rangeUpdate(fmt.Sprintf("subnet %q", spec.Name), s.Name, subnet.OwnKey(), s.VPCID, s.PrefixLength, prefixLength(spec.PrefixLength, spec.CIDR))
			u.Apply = func(ctx context.Context) error {
				_, err := n.api.UpdateSubnet(ctx, n.siteID(), s.ID, bmm.SubnetUpdateRequest{Name: tag.Name(subnet.OwnKey())})
				return err
			}
			return u
		},
	})
	return subnet
}

// prefixLength is what the spec asks for; admission ensures that it has exactly one of the two.
func prefixLength(length *int32, cidr string) int {
	if length != nil {
		return int(*length)
	}
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return 0 // The API refuses it.
	}
	return prefix.Bits()
}

// rangeUpdate is that of a subnet or a prefix. The name, which is its tag, is restored. Its size can't be changed: a range that was
// removed and added again before it was gone still has its old one.
func (n *networks) rangeUpdate(what, name string, key graph.Key, vpc string, size, wanted int) (u graph.Update) {
	own := tag.Name(key)
	switch {
	case name != own:
		u.Changes = []graph.Change{{Field: "name", From: name, To: own}}
	case n.vpc.ID() != "" && vpc != n.vpc.ID(): // it was replaced, because it was gone
		u.Changes = []graph.Change{{Field: "VPC", From: vpc, To: n.vpc.ID()}}
		u.Refused = fault.Invalidf("%s can't be changed (%s): remove it, and add one with another name", what, u.Changes[0])
	case size != wanted:
		u.Changes = []graph.Change{{Field: "prefixLength", From: strconv.Itoa(size), To: strconv.Itoa(wanted)}}
		u.Refused = fault.Invalidf("%s can't be changed (%s): remove it, and add one with another name", what, u.Changes[0])
	}
	return u
}
