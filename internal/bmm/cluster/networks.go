package cluster

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Keys of the graph. Where there may be several of a kind they are KIND/NAME, and so they are where the name of the
// resource has to hold its tag.
const (
	siteKey        = "site"
	ipBlockKey     = "ipblock"
	parentBlockKey = "parentblock" // parentblock/NAME
	allocationKey  = "allocation"  // allocation/NAME
	groupKey       = "group"       // group, or group/ID for the user's own
	vpcKey         = "vpc"
	subnetKey      = "subnet"  // subnet/NAME
	prefixKey      = "prefix"  // prefix/NAME
	peeringKey     = "peering" // peering/ID of the other VPC
)

// Kinds of what others lie in.
const (
	kindSite = infrav1.KindSite
	kindVPC  = "VPC"
)

// Kinds of what clusters have outside.
type Kinds struct {
	Site       *graph.Kind[bmm.Site]
	IPBlock    *graph.Kind[bmm.IPBlock]
	Allocation *graph.Kind[bmm.Allocation]
	Group      *graph.Kind[bmm.NetworkSecurityGroup]
	VPC        *graph.Kind[bmm.VPC]
	Subnet     *graph.Kind[bmm.Subnet]
	Prefix     *graph.Kind[bmm.VPCPrefix]
	Peering    *graph.Kind[bmm.VPCPeering]
}

// KindsOf are the kinds as a client sees them.
func KindsOf(api *bmm.Client) *Kinds {
	service := &graph.Service{Endpoint: api.Endpoint()}
	return &Kinds{
		Site: siteKind(api, service), IPBlock: ipBlockKind(api, service), Allocation: allocationKind(api, service),
		Group: groupKind(api, service), VPC: vpcKind(api, service),
		Subnet: subnetKind(api, service), Prefix: prefixKind(api, service), Peering: peeringKind(api, service),
	}
}

// networks is the graph of one NvidiaBMMCluster:
//
//	site ─┬─ group ──┐
//	      ├──────────┴─ VPC ──┬─ subnets or VPC prefixes
//	      │                   └─ peerings
//	      └─ parent block ─ allocation ─ IP block ─┘
//
// where subnets and prefixes come after the IP block too, and parent block and allocation exist if the cluster creates
// its own block.
type networks struct {
	api    *bmm.Client
	live   client.Reader
	owner  *clusterv1.Cluster // nil if it is gone
	object *infrav1.NvidiaBMMCluster
	graph  *graph.Graph
	// planning means that nothing is done: changes may name what is still to be created.
	planning bool

	kinds *Kinds

	site        *graph.Handle[bmm.Site]
	parentBlock *graph.Handle[bmm.IPBlock]    // nil unless the spec makes one
	allocation  *graph.Handle[bmm.Allocation] // likewise
	ipBlock     *graph.Handle[bmm.IPBlock]
	group       *graph.Handle[bmm.NetworkSecurityGroup] // nil unless the spec has one
	vpc         *graph.Handle[bmm.VPC]
	shown       graph.Ref // the status shows what the ranges are cut from and lie in
	subnets     []*graph.Handle[bmm.Subnet]
	prefixes    []*graph.Handle[bmm.VPCPrefix]
	peerings    []*graph.Handle[bmm.VPCPeering]
}

// open opens the graph with whatever its ledger names.
func open(
	ctx context.Context, engine *graph.Engine, api *bmm.Client, owner *clusterv1.Cluster, object *infrav1.NvidiaBMMCluster,
) (*networks, error) {
	k := KindsOf(api)
	n := &networks{api: api, live: engine.Live, owner: owner, object: object, kinds: k}
	g, err := engine.New(ctx, object, []string{SecretOf(object).String()},
		k.Site, k.IPBlock, k.Allocation, k.Group, k.VPC, k.Subnet, k.Prefix, k.Peering)
	n.graph = g
	return n, err
}

// Reconcile makes what the spec asks for, and shows it in the status.
func (n *networks) Reconcile(ctx context.Context) (ctrl.Result, error) {
	n.want()
	result, err := n.graph.Reconcile(ctx)
	n.project()
	return result, err
}

// Delete all that the ledger has, and remove from the status what it doesn't have any more.
func (n *networks) Delete(ctx context.Context, finalizer string) (ctrl.Result, error) {
	result, err := n.graph.DeleteAndRelease(ctx, finalizer)
	n.projectLeft()
	return result, err
}

// want adds what the spec asks for.
func (n *networks) want() {
	spec := n.object.Spec
	n.site = n.wantSite()
	if spec.IPBlock != nil && spec.IPBlock.Create != nil {
		n.parentBlock = n.wantParentBlock(spec.IPBlock.Create)
		n.allocation = n.wantAllocation(spec.IPBlock.Create)
	} else {
		n.graph.Gate(infrav1.IPBlockReadyCondition, notWanted)
	}
	n.ipBlock = n.wantIPBlock()
	if spec.VPC.NetworkSecurityGroup == nil {
		n.graph.Gate(infrav1.NSGReadyCondition, notWanted)
	} else {
		n.group = n.wantGroup(spec.VPC.NetworkSecurityGroup)
	}
	n.vpc = n.wantVPC()
	n.shown = n.graph.Gate(infrav1.SubnetsReadyCondition, n.showsParents)
	for _, subnet := range spec.Subnets {
		n.subnets = append(n.subnets, n.wantSubnet(subnet))
	}
	for _, prefix := range spec.VPCPrefixes {
		n.prefixes = append(n.prefixes, n.wantPrefix(prefix))
	}
	if len(spec.VPCPeerings) == 0 {
		n.graph.Gate(infrav1.VPCPeeringsReadyCondition, notWanted)
	}
	for _, peering := range spec.VPCPeerings {
		n.peerings = append(n.peerings, n.wantPeering(peering))
	}
	n.graph.Gate(infrav1.ControlPlaneEndpointReadyCondition, n.endpoint)
}

func notWanted() phases.Phase { return phases.Ready().Because("NotWanted") }

// siteID is that of the site which the spec names.
func (n *networks) siteID() string { return n.graph.ID(siteKey) }

// showsParents reports whether the status shows VPC and IP block. From then on admission keeps the spec from naming others, which a range
// that exists could not follow.
func (n *networks) showsParents() phases.Phase {
	if status := n.object.Status; n.planning || status.VPCID == n.vpc.ID() && status.IPBlockID == n.ipBlock.ID() {
		return phases.Ready()
	}
	return phases.Waiting("waits until the status shows VPC %s and IP block %s", n.vpc.ID(), n.ipBlock.ID())
}

// endpoint reports whether the control plane can begin: KubeadmControlPlane does nothing until the endpoint is known,
// and there is no default.
func (n *networks) endpoint() phases.Phase {
	if n.object.Spec.ControlPlaneEndpoint != nil || n.owner.Spec.ControlPlaneEndpoint.IsValid() {
		return phases.Ready()
	}
	if n.owner.Spec.ControlPlaneRef.Kind != "KubeadmControlPlane" {
		return phases.Ready() // Other control plane providers bring an endpoint of their own.
	}
	return phases.Failed("KubeadmControlPlane %s waits for an endpoint: set spec.controlPlaneEndpoint to an address that "+
		"leads to the control plane, such as a virtual IP", n.owner.Spec.ControlPlaneRef.Name).Because("NoEndpoint")
}
