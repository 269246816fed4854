package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Plan reports what reconciling an NvidiaBMMMachine would do, or, if it is being deleted, what its deletion would. It
// changes nothing. Infra is the NvidiaBMMCluster of its cluster; its Machine may be nil. An error means that the ledger
// can't be used.
func (r *Reconciler) Plan(
	ctx context.Context, api *bmm.Client, infra *infrav1.NvidiaBMMCluster, machine *clusterv1.Machine,
	object *infrav1.NvidiaBMMMachine,
) ([]graph.Step, error) {
	n, err := r.open(ctx, api, cluster.SecretOf(infra).String(), owners{machine: machine, infra: infra}, object)
	if err != nil {
		return nil, err
	}
	switch {
	case !object.DeletionTimestamp.IsZero():
	case machine == nil:
		n.Want(n.Graph.Gate(infrav1.BootstrapDataReadyCondition, func() phases.Phase {
			return phases.Waiting("no Machine owns NvidiaBMMMachine %s yet", object.Name)
		}))
	default:
		n.Want(n.prerequisites()...)
	}
	return n.Graph.Plan(ctx), nil
}

// Wanted describes an instance that would be created.
type Wanted struct {
	// InstanceTypeID or MachineID is set.
	InstanceTypeID, MachineID string
	// Networks are the names of subnets or VPC prefixes, in the order of the interfaces.
	Networks []string
}

// InstanceOf describes the instance of a template, once the networks of infra exist. The error is for the user: it names
// what doesn't fit.
func InstanceOf(
	spec infrav1.NvidiaBMMMachineSpec, infra *infrav1.NvidiaBMMCluster, controlPlane bool, failureDomain string,
) (Wanted, error) {
	complete := infra.DeepCopy() // with names for IDs
	complete.Status.Subnets, complete.Status.VPCPrefixes = nil, nil
	for _, s := range infra.Spec.Subnets {
		complete.Status.Subnets = append(complete.Status.Subnets, infrav1.SubnetStatus{Name: s.Name, ID: s.Name})
	}
	for _, p := range infra.Spec.VPCPrefixes {
		complete.Status.VPCPrefixes = append(complete.Status.VPCPrefixes, infrav1.VPCPrefixStatus{Name: p.Name, ID: p.Name})
	}
	machine := &clusterv1.Machine{Spec: clusterv1.MachineSpec{FailureDomain: failureDomain}}
	if controlPlane {
		machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
	}
	n := &node{owners: owners{machine: machine, infra: complete}, object: &infrav1.NvidiaBMMMachine{Spec: spec}}
	if _, known := n.failureDomain(); !known {
		return Wanted{}, fmt.Errorf("NvidiaBMMCluster %s has no failure domain %q", infra.Name, failureDomain)
	}
	networks, phase := n.networks()
	if phase.State != phases.StateReady {
		return Wanted{}, errors.New(phase.Message)
	}
	domain, _ := n.failureDomain()
	wanted := Wanted{InstanceTypeID: instance.TypeID(spec.InstanceSpec, domain.InstanceTypeID), MachineID: spec.InstanceType.MachineID}
	for _, network := range networks {
		wanted.Networks = append(wanted.Networks, cmp.Or(network.Subnet, network.Prefix))
	}
	return wanted, nil
}
