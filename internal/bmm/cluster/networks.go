package cluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
)

// Keys of the graph.
const (
	siteKey    = "site"
	ipBlockKey = "ipblock"
	vpcKey     = "vpc"
	subnetKind = "subnet" // subnet/NAME
)

// networks is the graph of one NvidiaBMMCluster: site → VPC → subnets, which are cut from the IP block.
type networks struct {
	api   *bmm.Client
	graph *graph.Graph

	site    *graph.Handle[bmm.Site]
	ipBlock *graph.Handle[bmm.IPBlock]
	vpc     *graph.Handle[bmm.VPC]
	subnets []*graph.Handle[bmm.Subnet]

	siteKind    *graph.Kind[bmm.Site]
	ipBlockKind *graph.Kind[bmm.IPBlock]
	vpcKind     *graph.Kind[bmm.VPC]
	subnetKind  *graph.Kind[bmm.Subnet]
}

func (r *Reconciler) open(api *bmm.Client, object *infrav1.NvidiaBMMCluster) (*networks, error) {
	n := &networks{api: api}
	n.siteKind = n.newSiteKind()
	n.ipBlockKind = n.newIPBlockKind()
	n.vpcKind = n.newVPCKind()
	n.subnetKind = n.newSubnetKind()
	g, err := r.Engine.New(object, SecretOf(object).String(), n.siteKind, n.ipBlockKind, n.vpcKind, n.subnetKind)
	n.graph = g
	return n, err
}

// want adds what the spec asks for.
func (n *networks) want(object *infrav1.NvidiaBMMCluster) {
	n.site = n.wantSite(object)
	n.ipBlock = n.wantIPBlock(object)
	n.vpc = n.wantVPC(object)
	for _, subnet := range object.Spec.Subnets {
		n.subnets = append(n.subnets, n.wantSubnet(subnet))
	}
}

// siteID is what every lookup proves its answer against.
func (n *networks) siteID() string { return n.graph.ID(siteKey) }

// project shows the ledger in the status.
func (n *networks) project(status *infrav1.NvidiaBMMClusterStatus) {
	status.SiteID, status.IPBlockID, status.VPCID = n.site.ID(), n.ipBlock.ID(), n.vpc.ID()
	known := map[string]infrav1.SubnetStatus{}
	for _, s := range status.Subnets {
		known[s.ID] = s
	}
	status.Subnets = nil
	for _, handle := range n.subnets {
		if handle.ID() == "" {
			continue
		}
		s := known[handle.ID()]
		s.Name, s.ID = subnetName(handle.Key()), handle.ID()
		if subnet := handle.Object(); subnet != nil {
			s.CIDR = cidrOf(subnet)
		}
		status.Subnets = append(status.Subnets, s)
	}
	if meta.IsStatusConditionTrue(status.Conditions, infrav1.ReadyCondition) {
		status.Initialization.Provisioned = ptr.To(true)
	}
}
