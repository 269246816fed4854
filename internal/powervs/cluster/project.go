package cluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// project shows the ledger in the status, and the endpoint in the spec. What the ledger names and wasn't read in this reconcile stays as
// it was.
func (r *resources) project() {
	r.publish()
	s := &r.object.Status
	show(r, &s.ResourceGroup, r.group, infrav1.KindResourceGroup)
	show(r, &s.ServiceInstance, r.workspace, infrav1.KindWorkspace)
	show(r, &s.Network, r.network, infrav1.KindNetwork)
	r.showServer()
	show(r, &s.VPC, r.vpc, infrav1.KindVPC)
	s.VPCSubnet = showAll(r, s.VPCSubnet, r.subnets, infrav1.KindSubnet,
		func(r infrav1.ResourceReference) string { return r.ID },
		func(ref infrav1.ResourceReference, _ string, _ infrav1.ResourceReference, _ *ibm.Subnet) infrav1.ResourceReference {
			return ref
		})
	s.VPCSecurityGroups = showAll(r, s.VPCSecurityGroups, r.groups, infrav1.KindSecurityGroup,
		func(g infrav1.VPCSecurityGroupStatus) string { return g.ID }, r.groupStatus)
	s.LoadBalancers = showAll(r, s.LoadBalancers, r.balancers, infrav1.KindLoadBalancer,
		func(b infrav1.VPCLoadBalancerStatus) string { return b.ID }, balancerStatus)
	r.showGateway()
	show(r, &s.COSInstance, r.cos, infrav1.KindCOSInstance)
	s.Ready = meta.IsStatusConditionTrue(s.Conditions, infrav1.ReadyCondition)
	if provisioned(s.Conditions) {
		s.Initialization.Provisioned = ptr.To(true)
		r.graph.MayMove()
	}
}

// show a resource. What left the spec stays until it is gone.
func show[T any](r *resources, in **infrav1.ResourceReference, handle *graph.Handle[T], kind string) {
	switch {
	case handle != nil && handle.ID() != "":
		*in = &infrav1.ResourceReference{ID: handle.ID(), ControllerCreated: !handle.IsUsers()}
	case *in != nil && !r.graph.Names(kind, (*in).ID):
		*in = nil
	}
}

// showServer shows the DHCP server of the network.
func (r *resources) showServer() {
	s := &r.object.Status
	if s.Network == nil {
		s.DHCPServer = nil
		return
	}
	if r.network == nil || r.network.Object() == nil {
		return
	}
	if s.DHCPServer = nil; r.network.Object().DHCP != nil {
		s.DHCPServer = &infrav1.ResourceReference{ID: r.network.Object().DHCP.ID, ControllerCreated: s.Network.ControllerCreated}
	}
}

func (r *resources) showGateway() {
	s := &r.object.Status
	before := s.TransitGateway
	if before == nil {
		before = &infrav1.TransitGatewayStatus{}
	}
	gateway := &infrav1.ResourceReference{ID: before.ID, ControllerCreated: before.ControllerCreated}
	vpc, power := before.VPCConnection, before.PowerVSConnection
	show(r, &gateway, r.gateway, infrav1.KindTransitGateway)
	show(r, &vpc, r.vpcConnection, infrav1.KindVPCConnection)
	show(r, &power, r.powerVSConnection, infrav1.KindPowerVSConnection)
	if s.TransitGateway = nil; gateway != nil && gateway.ID != "" {
		s.TransitGateway = &infrav1.TransitGatewayStatus{
			ID: gateway.ID, ControllerCreated: gateway.ControllerCreated, VPCConnection: vpc, PowerVSConnection: power,
		}
	}
}

// showAll shows resources by their names. Those that left the spec stay until they are gone.
func showAll[S, T any](
	r *resources, before map[string]S, all named[T], kind string, id func(S) string,
	of func(ref infrav1.ResourceReference, name string, before S, object *T) S,
) map[string]S {
	now := map[string]S{}
	for name, s := range before {
		if r.graph.Names(kind, id(s)) {
			now[name] = s
		}
	}
	for _, one := range all {
		if one.handle.ID() != "" {
			ref := infrav1.ResourceReference{ID: one.handle.ID(), ControllerCreated: !one.handle.IsUsers()}
			now[one.name] = of(ref, one.name, before[one.name], one.handle.Object())
		}
	}
	if len(now) == 0 {
		return nil
	}
	return now
}

func (r *resources) groupStatus(
	ref infrav1.ResourceReference, name string, _ infrav1.VPCSecurityGroupStatus, _ *ibm.SecurityGroup,
) infrav1.VPCSecurityGroupStatus {
	s := infrav1.VPCSecurityGroupStatus{ID: ref.ID, ControllerCreated: ref.ControllerCreated}
	for _, rule := range r.rules[name] {
		if id := rule.ID(); id != "" && !rule.IsUsers() {
			s.RuleIDs = append(s.RuleIDs, id)
		}
	}
	return s
}

func balancerStatus(
	ref infrav1.ResourceReference, _ string, before infrav1.VPCLoadBalancerStatus, b *ibm.LoadBalancer,
) infrav1.VPCLoadBalancerStatus {
	s := infrav1.VPCLoadBalancerStatus{ID: ref.ID, ControllerCreated: ref.ControllerCreated}
	if b != nil {
		s.State, s.Hostname = b.Status, b.Hostname
	} else if before.ID == ref.ID {
		s.State, s.Hostname = before.State, before.Hostname
	}
	return s
}

// projectLeft removes from the status, during a deletion, what the ledger doesn't have any more.
func (r *resources) projectLeft() {
	*r = resources{api: r.api, owner: r.owner, object: r.object, kinds: r.kinds, graph: r.graph}
	provisioned := r.object.Status.Initialization
	r.project()
	r.object.Status.Initialization = provisioned
}

// provisioned is true when machines can be created.
func provisioned(conditions []metav1.Condition) bool {
	for _, c := range conditions {
		if c.Type != infrav1.ReadyCondition && c.Type != clusterv1.PausedCondition && c.Status != metav1.ConditionTrue {
			return false
		}
	}
	return meta.IsStatusConditionTrue(conditions, infrav1.WorkspaceReadyCondition)
}
