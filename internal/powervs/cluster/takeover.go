package cluster

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/ledgers"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// dropOldConditions removes those of another provider, which have no reason: with them the API server refuses the whole status.
func dropOldConditions(object *infrav1.IBMPowerVSCluster) {
	object.Status.Conditions = slices.DeleteFunc(object.Status.Conditions, func(c metav1.Condition) bool { return c.Reason == "" })
}

// takeOver writes the ledger from what another provider's status says, if the object asks for that. Written is true if the ledger is new: a
// cache may lack it.
func (r *Reconciler) takeOver(
	ctx context.Context, api *ibm.Client, secret string, object *infrav1.IBMPowerVSCluster,
) (written bool, err error) {
	if object.Annotations[infrav1.TakeOverAnnotation] != "true" {
		return false, nil
	}
	l, err := ledgers.Of(ctx, r.Engine.Live, r.Scheme(), object)
	if err != nil {
		return false, err
	}
	if !l.IsOf(object.UID) || !l.Owns() { // else it was written before, and the annotation not taken off
		kinds := KindsOf(api, object).all()
		if err := r.Engine.Seed(ctx, object, "", []string{secret}, kinds, shownBy(object)...); err != nil {
			return false, fmt.Errorf("take over from the status: %w", err)
		}
	}
	delete(object.Annotations, infrav1.TakeOverAnnotation)
	return true, nil
}

// shownBy is what a status says, as lines of a ledger.
func shownBy(c *infrav1.IBMPowerVSCluster) (lines []ledgers.Resource) {
	s := &c.Status
	in := ledgerv1.Scope{infrav1.KindZone: c.Spec.Zone, infrav1.KindRegion: c.Region()}
	add := func(key, kind string, r *infrav1.ResourceReference, within ...string) {
		if r == nil || r.ID == "" {
			return
		}
		lines = append(lines, ledgers.Resource{Key: key, Kind: kind, ID: r.ID, Own: r.ControllerCreated, Scope: in.Within(within)})
		in[kind] = r.ID
	}
	add(workspaceKey, infrav1.KindWorkspace, s.ServiceInstance, infrav1.KindZone)
	network := s.Network
	if network != nil && s.DHCPServer != nil { // the network goes with its server
		network = &infrav1.ResourceReference{ID: network.ID, ControllerCreated: s.DHCPServer.ControllerCreated}
	}
	add(networkKey+"/"+c.DHCPServerName(), infrav1.KindNetwork, network, infrav1.KindZone, infrav1.KindWorkspace)
	add(vpcKey, infrav1.KindVPC, s.VPC, infrav1.KindRegion)
	for name, subnet := range s.VPCSubnet {
		add(subnetKey+name, infrav1.KindSubnet, &subnet, infrav1.KindRegion, infrav1.KindVPC)
	}
	for name, g := range s.VPCSecurityGroups {
		group := &infrav1.ResourceReference{ID: g.ID, ControllerCreated: g.ControllerCreated}
		add(groupKey+name, infrav1.KindSecurityGroup, group, infrav1.KindRegion, infrav1.KindVPC)
	}
	for name, b := range s.LoadBalancers {
		balancer := &infrav1.ResourceReference{ID: b.ID, ControllerCreated: b.ControllerCreated}
		add(balancerKey+name, infrav1.KindLoadBalancer, balancer, infrav1.KindRegion, infrav1.KindVPC)
	}
	if g := s.TransitGateway; g != nil {
		add(gatewayKey, infrav1.KindTransitGateway, &infrav1.ResourceReference{ID: g.ID, ControllerCreated: g.ControllerCreated})
		add(vpcConnectionKey, infrav1.KindVPCConnection, g.VPCConnection, infrav1.KindTransitGateway, infrav1.KindVPC)
		add(powerVSConnectionKey, infrav1.KindPowerVSConnection, g.PowerVSConnection, infrav1.KindTransitGateway, infrav1.KindWorkspace)
	}
	add(cosKey, infrav1.KindCOSInstance, s.COSInstance)
	return lines
}

// takenOver is what a reconcile that has written a ledger ends with: the next one reads it.
var takenOver = &fault.Error{Class: fault.Busy, Err: fmt.Errorf("the ledger was just written from the status")}

// orTakeOver says of a lost ledger what else may be the reason.
func (r *Reconciler) orTakeOver(ctx context.Context, object *infrav1.IBMPowerVSCluster, err error) error {
	if l, missing := ledgers.Of(ctx, r.Engine.Live, r.Scheme(), object); err == nil || l != nil || missing != nil {
		return err
	}
	return fmt.Errorf("%w. If another provider has made all that, have it taken over from the status: give this object the annotation "+
		"%s=\"true\"", err, infrav1.TakeOverAnnotation)
}
