package machine

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// prerequisites of the instance: the cluster's network, and the bootstrap data.
func (n *node) prerequisites() []graph.Ref {
	return []graph.Ref{
		n.Graph.Gate(infrav1.ClusterReadyCondition, n.clusterPhase),
		n.Graph.Gate(infrav1.BootstrapDataReadyCondition, func() phases.Phase { return bootstrapPhase(n.machine) }),
	}
}

// clusterPhase reports whether the cluster has the network that the machine is put into. Once there is an instance,
// the cluster's later problems aren't the machine's.
func (n *node) clusterPhase() phases.Phase {
	if n.ID() != "" {
		return phases.Ready()
	}
	if !networksReady(n.infra) {
		return phases.Waiting("NvidiaBMMCluster %s isn't ready yet", n.infra.Name)
	}
	if _, known := n.failureDomain(); !known {
		return phases.Failed("NvidiaBMMCluster %s has no failure domain %q: add it there, or replace Machine %s by one in another",
			n.infra.Name, n.machine.Spec.FailureDomain, n.machine.Name).Because("NoSuchFailureDomain")
	}
	_, phase := n.networks()
	return phase
}

// networksReady is true when machines can be put into the cluster's networks. Each machine checks its own network besides: another one
// that is in progress, or being deleted, is no reason to wait. A security group of the spec that has failed or is gone is.
func networksReady(infra *infrav1.NvidiaBMMCluster) bool {
	status := infra.Status
	group := meta.FindStatusCondition(status.Conditions, infrav1.NSGReadyCondition)
	grouped := status.NetworkSecurityGroupID != "" &&
		(group == nil || group.Reason != string(phases.StateFailed) && group.Reason != phases.ReasonMissing)
	return ptr.Deref(status.Initialization.Provisioned, false) && status.VPCID != "" &&
		meta.IsStatusConditionTrue(status.Conditions, infrav1.VPCReadyCondition) &&
		(infra.Spec.VPC.NetworkSecurityGroup == nil || grouped)
}

// isControlPlane reports whether a machine belongs to the control plane.
func (n *node) isControlPlane() bool { return util.IsControlPlaneMachine(n.machine) }

// bootstrapPhase reports whether the bootstrap provider has done its part.
func bootstrapPhase(machine *clusterv1.Machine) phases.Phase {
	if ptr.Deref(machine.Spec.Bootstrap.DataSecretName, "") == "" {
		return phases.Waiting("the bootstrap provider hasn't written the data of Machine %s yet", machine.Name)
	}
	return phases.Ready()
}

// project shows the instance in spec.providerID and in the status. What wasn't seen stays as it was. It isn't complete if the machine is
// ready, and isn't provisioned: Cluster API reads spec.providerID then, which is written after the status.
func (n *node) project() (complete bool) {
	status, named := &n.object.Status, n.object.Spec.ProviderID != ""
	n.Project(&status.InstanceStatus)
	n.object.Spec.ProviderID = cmp.Or(n.ProviderID(), n.object.Spec.ProviderID)
	if n.object.Spec.ProviderID != "" { // it is written anyway
		n.Graph.MayMove()
	}
	if o := n.Object(); o != nil {
		status.Addresses = nil
		for _, a := range instance.Addresses(o) {
			address := clusterv1.MachineAddress{Type: clusterv1.MachineAddressType(a.Type), Address: a.Address}
			status.Addresses = append(status.Addresses, address)
		}
	}
	if n.machine != nil {
		status.FailureDomain = n.machine.Spec.FailureDomain
	}
	if !meta.IsStatusConditionTrue(status.Conditions, infrav1.ReadyCondition) {
		return true
	}
	if named {
		status.Initialization.Provisioned = ptr.To(true)
	}
	return named
}
