package orphans

import (
	"context"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/orphans"
)

var owners = []*orphans.OwnerKind{
	{Name: "NvidiaBMMCluster", List: clusters, MayHave: func(s orphans.Stage) bool { return s != stageInstance }},
	{Name: "NvidiaBMMMachine", List: machines, MayHave: func(s orphans.Stage) bool { return s == stageInstance || s == stageGroup }},
	{Name: "Machine", List: openShiftMachines, MayHave: func(orphans.Stage) bool { return true }},
}

func clusters(ctx context.Context, c client.Reader, _ orphans.Ledgers) ([]orphans.Holder, error) {
	list := &infrav1.NvidiaBMMClusterList{}
	err := c.List(ctx, list)
	return orphans.Holders(list.Items, func(o *infrav1.NvidiaBMMCluster) (orphans.Holder, bool) {
		return orphans.Holder{Owner: o, Spec: o.Spec, Secret: cluster.SecretOf(o)}, true
	}), err
}

// machines log in as their clusters do: their instances were created with the Secret that the ledger names.
func machines(ctx context.Context, c client.Reader, all orphans.Ledgers) ([]orphans.Holder, error) {
	list := &infrav1.NvidiaBMMMachineList{}
	err := c.List(ctx, list)
	return orphans.Holders(list.Items, func(o *infrav1.NvidiaBMMMachine) (orphans.Holder, bool) {
		return orphans.Holder{Owner: o, Spec: o.Spec, Secret: ledgers.SecretOf(o, all.Of("NvidiaBMMMachine", o))}, true
	}), err
}

// openShiftMachines leaves out other providers' Machines, unless a ledger says that one was ours.
func openShiftMachines(ctx context.Context, c client.Reader, all orphans.Ledgers) ([]orphans.Holder, error) {
	list := &machinev1.MachineList{}
	err := c.List(ctx, list)
	return orphans.Holders(list.Items, func(o *machinev1.Machine) (orphans.Holder, bool) {
		ledger := all.Of("Machine", o)
		secret, ours := actuator.SecretOf(o, ledger)
		return orphans.Holder{Owner: actuator.OwnerOf(o), Spec: o.Spec, Secret: secret}, ours || ledger != nil
	}), err
}
