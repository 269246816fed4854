package main

import (
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmmconfig "github.com/bedplate/bedplate/config/bmm"
	"github.com/bedplate/bedplate/internal/bmm/provider"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
)

// system is what a rig has to know of the system whose manager is measured.
type system struct {
	// manager is its tool; its place in production, and its manifests, are those of config/.
	manager                           string
	namespace, account, metricsReader string
	crds, rbac                        fs.FS
	addToScheme                       func(*runtime.Scheme) error
	clusters, machines                client.ObjectList
	cluster, machine                  client.Object
	// statusOf a cluster or a machine; a cluster has no instance.
	statusOf func(client.Object) (provisioned bool, instanceID string)
	// simulator is the argument of `bedplate lab simulate`, world its configuration. It is ready when it answers probe: calls, if that isn't set.
	simulator string
	world     any
	probe     string
	// lists is the operation of the simulator that lists machines.
	lists string
}

// tools are the programs that a rig of the system runs.
func (s system) tools() []string {
	return slices.Concat([]string{"bedplate", s.manager, "manifests/core.yaml"}, controlplane.Tools)
}

func bmmSystem(world sim.Config) system {
	return system{
		manager: "bmm-manager", namespace: "bedplate-bmm-system", account: "bedplate-bmm-manager", metricsReader: "bedplate-bmm-metrics-reader",
		crds: bmmconfig.CRDs, rbac: bmmconfig.RBAC, addToScheme: provider.AddToScheme,
		clusters: &infrav1.NvidiaBMMClusterList{}, machines: &infrav1.NvidiaBMMMachineList{},
		cluster: &infrav1.NvidiaBMMCluster{}, machine: &infrav1.NvidiaBMMMachine{},
		statusOf: func(object client.Object) (bool, string) {
			if machine, is := object.(*infrav1.NvidiaBMMMachine); is {
				return ptr.Deref(machine.Status.Initialization.Provisioned, false), machine.Status.InstanceID
			}
			return ptr.Deref(object.(*infrav1.NvidiaBMMCluster).Status.Initialization.Provisioned, false), ""
		},
		simulator: "bmm", world: world, lists: "listInstances",
	}
}
