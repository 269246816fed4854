package cluster

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// Keys of the graph. Where there may be several of a kind they are KIND/NAME.
const (
	resourceGroupKey     = "resourcegroup"
	zoneKey              = "zone"
	workspaceKey         = "workspace"
	networkKey           = "network"
	vpcKey               = "vpc"
	defaultGroupKey      = "group:default"
	apiRuleKey           = "rule:api"
	subnetKey            = "subnet/"       // subnet/NAME, or subnet/ID of the user's own
	groupKey             = "group/"        // group/NAME, or group/ID of the user's own
	ruleKey              = "rule/"         // rule/GROUP/TEXT
	balancerKey          = "loadbalancer/" // loadbalancer/NAME, or loadbalancer/ID of the user's own
	gatewayKey           = "transitgateway"
	vpcConnectionKey     = "connection/vpc"
	powerVSConnectionKey = "connection/powervs"
	cosKey               = "cos"
	bucketKey            = "bucket"
	hmacKey              = "hmackey"
)

// Kinds of what clusters have outside.
type Kinds struct {
	ResourceGroup     *graph.Kind[ibm.ResourceGroup]
	Zone              *graph.Kind[ibm.Zone]
	Workspace         *graph.Kind[ibm.Instance]
	Network           *graph.Kind[network]
	VPC               *graph.Kind[ibm.VPC]
	Subnet            *graph.Kind[ibm.Subnet]
	Group             *graph.Kind[ibm.SecurityGroup]
	Rule              *graph.Kind[ibm.SecurityGroupRule]
	Balancer          *graph.Kind[ibm.LoadBalancer]
	Gateway           *graph.Kind[ibm.TransitGateway]
	VPCConnection     *graph.Kind[ibm.Connection]
	PowerVSConnection *graph.Kind[ibm.Connection]
	COS               *graph.Kind[ibm.Instance]
	Bucket            *graph.Kind[ibm.Bucket]
	Key               *graph.Kind[ibm.HMACKey]
}

// KindsOf are the kinds as a client sees them. What is new of an object lies where its spec says; all else where its ledger says.
func KindsOf(api *ibm.Client, object *infrav1.IBMPowerVSCluster) *Kinds {
	service := func(s ibm.Service, region string) *graph.Service {
		return &graph.Service{Endpoint: api.Endpoint(s, region), Account: api.AccountID}
	}
	rm, rc, power := service(ibm.ServiceResourceManager, ""), service(ibm.ServiceResourceController, ""), service(ibm.ServicePowerVS, ibm.PowerVSRegion(object.Spec.Zone))
	vpc, transit, cos := service(ibm.ServiceVPC, object.Region()), service(ibm.ServiceTransitGateway, ""), service(ibm.ServiceCOS, bucketRegion(object))
	return &Kinds{
		ResourceGroup: resourceGroupKind(api, rm), Zone: zoneKind(api, power, object.CreatesInfra()),
		Workspace: workspaceKind(api, rc, object), Network: networkKind(api, power),
		VPC: vpcKind(api, vpc, object), Subnet: subnetKind(api, vpc), Group: groupKind(api, vpc), Rule: ruleKind(api, vpc),
		Balancer: balancerKind(api, vpc), Gateway: gatewayKind(api, transit),
		VPCConnection:     connectionKind(api, transit, infrav1.KindVPCConnection, infrav1.KindVPC),
		PowerVSConnection: connectionKind(api, transit, infrav1.KindPowerVSConnection, infrav1.KindWorkspace),
		COS:               cosKind(api, rc), Bucket: bucketKind(api, cos, object), Key: hmacKind(api, rc),
	}
}

func (k *Kinds) all() []graph.AnyKind {
	return []graph.AnyKind{
		k.ResourceGroup, k.Zone, k.Workspace, k.Network, k.VPC, k.Subnet, k.Group, k.Rule, k.Balancer, k.Gateway, k.VPCConnection,
		k.PowerVSConnection, k.COS, k.Bucket, k.Key,
	}
}

// resources is the graph of one IBMPowerVSCluster:
//
//	zone ──┬─ workspace ─┬─ network
//	group ─┤             └───┬─ gateway ─ VPC connection ─ PowerVS connection
//	       └─ VPC ─┬─────────┘
//	               ├─ API-port rule
//	               └─ subnets ─ security groups ─ rules, load balancers
//
//	group ── COS instance ─ bucket, HMAC key
//
// where zone and group are the user's own, and the last line is for Ignition only. Without the annotation create-infra there are zone,
// workspace and network only, all of them the user's own.
type resources struct {
	api    *ibm.Client
	owner  *clusterv1.Cluster // nil if it is gone
	object *infrav1.IBMPowerVSCluster
	graph  *graph.Graph
	kinds  *Kinds

	group     *graph.Handle[ibm.ResourceGroup]
	zone      *graph.Handle[ibm.Zone]
	workspace *graph.Handle[ibm.Instance]
	network   *graph.Handle[network] // nil unless there is one

	// All of these are nil without create-infra.
	vpc                              *graph.Handle[ibm.VPC]
	subnets                          named[ibm.Subnet]
	ranged                           map[string]bool // the subnets that are to have a certain range: they may wait for one that leaves
	groups                           named[ibm.SecurityGroup]
	rules                            map[string][]*graph.Handle[ibm.SecurityGroupRule] // by the name of the group
	balancers                        named[ibm.LoadBalancer]
	public                           *graph.Handle[ibm.LoadBalancer]
	gateway                          *graph.Handle[ibm.TransitGateway]
	vpcConnection, powerVSConnection *graph.Handle[ibm.Connection]
	cos                              *graph.Handle[ibm.Instance] // nil without Ignition
}

// named are resources in the order of the spec, each with the name that the status has it under.
type named[T any] []namedOne[T]

type namedOne[T any] struct {
	name   string
	handle *graph.Handle[T]
}

func (n *named[T]) add(name string, handle *graph.Handle[T]) {
	*n = append(*n, namedOne[T]{name, handle})
}

// open opens the graph with whatever its ledger names.
func open(
	ctx context.Context, engine *graph.Engine, api *ibm.Client, secrets []string, owner *clusterv1.Cluster, object *infrav1.IBMPowerVSCluster,
) (*resources, error) {
	r := &resources{
		api: api, owner: owner, object: object, kinds: KindsOf(api, object), ranged: map[string]bool{},
		rules: map[string][]*graph.Handle[ibm.SecurityGroupRule]{},
	}
	g, err := engine.New(ctx, object, secrets, r.kinds.all()...)
	r.graph = g
	return r, err
}

// Reconcile makes what the spec asks for, and shows it in the status.
func (r *resources) Reconcile(ctx context.Context) (ctrl.Result, error) {
	r.want()
	result, err := r.graph.Reconcile(ctx)
	r.project()
	return result, err
}

// Delete all that the ledger has, and remove from the status what it doesn't have any more.
func (r *resources) Delete(ctx context.Context, finalizer string) (ctrl.Result, error) {
	result, err := r.graph.DeleteAndRelease(ctx, finalizer)
	r.projectLeft()
	return result, err
}

// want adds what the spec asks for.
func (r *resources) want() {
	if !r.object.CreatesInfra() {
		r.wantExisting()
		return
	}
	r.group = r.wantResourceGroup()
	r.zone = r.wantZone()
	r.workspace = r.wantWorkspace()
	r.network = r.wantNetwork()
	r.wantVPC()
	if r.wantSubnets(); len(r.subnets) > 0 {
		r.wantGroups()
		r.wantBalancers()
	} else {
		r.keepSubnets()
	}
	r.wantGateway()
	r.wantCOS()
}

// wantExisting adds workspace and network of the user's own.
func (r *resources) wantExisting() {
	for _, condition := range []string{
		infrav1.ReferencesResolvedCondition, infrav1.VPCReadyCondition, infrav1.VPCSubnetReadyCondition, infrav1.VPCSecurityGroupReadyCondition,
		infrav1.TransitGatewayReadyCondition, infrav1.COSInstanceReadyCondition,
	} {
		r.graph.Gate(condition, notWanted)
	}
	r.graph.Gate(infrav1.LoadBalancerReadyCondition, r.endpoint)
	r.useWorkspace()
	r.useNetwork()
}

func notWanted() phases.Phase { return phases.Ready().Because("NotWanted") }

// groupID is that of the resource group, once it is known.
func (r *resources) groupID() string { return r.graph.ID(resourceGroupKey) }
