package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	powervsconfig "github.com/bedplate/bedplate/config/powervs"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/provider"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// vpcRegion is that of all clusters' VPCs.
const vpcRegion = "us-south"

func powerSystem(world sim.Config) system {
	return system{
		manager: "powervs-manager", namespace: "bedplate-powervs-system", account: "bedplate-powervs-manager",
		metricsReader: "bedplate-powervs-metrics-reader",
		crds:          powervsconfig.CRDs, rbac: powervsconfig.RBAC, addToScheme: provider.AddToScheme,
		clusters: &infrav1.IBMPowerVSClusterList{}, machines: &infrav1.IBMPowerVSMachineList{},
		cluster: &infrav1.IBMPowerVSCluster{}, machine: &infrav1.IBMPowerVSMachine{},
		statusOf: func(object client.Object) (bool, string) {
			if machine, is := object.(*infrav1.IBMPowerVSMachine); is {
				return ptr.Deref(machine.Status.Initialization.Provisioned, false), machine.Status.InstanceID
			}
			return ptr.Deref(object.(*infrav1.IBMPowerVSCluster).Status.Initialization.Provisioned, false), ""
		},
		simulator: "ibmcloud", world: world, lists: "power.listServers",
	}
}

// powerWorld is an account whose quotas limit nothing.
func powerWorld(t tempo) sim.Config {
	world := sim.DefaultWorld()
	world.Speed = t.Speed
	world.Quotas.Workspaces, world.Quotas.VPCs, world.Quotas.LoadBalancers, world.Quotas.TransitGateways = -1, -1, -1, -1
	return world
}

// powerFleet makes what Cluster API would make of clusters for which everything is created. Each has credentials of its own, all for one
// account.
type powerFleet struct {
	fleet
	endpoint string
}

func (f powerFleet) createCluster(ctx context.Context, name string) error {
	secret := &corev1.Secret{ObjectMeta: named(name), Data: map[string][]byte{ibm.SecretKeyAPIKey: []byte(sim.DefaultAPIKey)}}
	for service, path := range map[ibm.Service]string{
		ibm.ServiceIAM: "", ibm.ServiceResourceManager: "", ibm.ServiceResourceController: "", ibm.ServicePowerVS: "",
		ibm.ServiceVPC: "/vpc/{region}/v1", ibm.ServiceTransitGateway: "/v1", ibm.ServiceCOS: "",
	} {
		secret.Data[string(service)+"Endpoint"] = []byte(f.endpoint + path)
	}
	owner := &clusterv1.Cluster{ObjectMeta: named(name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: reference("IBMPowerVSCluster", name),
		ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: name,
		},
	}}
	if err := f.create(ctx, secret, owner); err != nil {
		return err
	}
	cluster := &infrav1.IBMPowerVSCluster{
		ObjectMeta: member(name, name, owner, "Cluster"),
		Spec: infrav1.IBMPowerVSClusterSpec{
			Authentication: &infrav1.Authentication{SecretRef: infrav1.SecretReference{Name: name}},
			Zone:           sim.DefaultZone,
			ResourceGroup:  &infrav1.IBMPowerVSResourceReference{Name: sim.DefaultResourceGroup},
			VPC:            &infrav1.VPCResourceReference{Region: vpcRegion},
		},
	}
	cluster.Annotations = map[string]string{infrav1.CreateInfraAnnotation: "true"}
	image := &infrav1.IBMPowerVSImage{
		ObjectMeta: member(name, name, nil, ""),
		Spec: infrav1.IBMPowerVSImageSpec{
			ClusterName: name, Bucket: "images", Object: "kubernetes.ova.gz", Region: vpcRegion, DeletePolicy: infrav1.DeletePolicyDelete,
		},
	}
	return f.create(ctx, cluster, image)
}

// createMachine makes a machine of the control plane, or a worker.
func (f powerFleet) createMachine(ctx context.Context, cluster, name string, controlPlane bool) error {
	meta := member(cluster, name, nil, "")
	if controlPlane {
		meta.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	owner, err := f.createOwner(ctx, "IBMPowerVSMachine", meta)
	if err != nil {
		return err
	}
	return f.create(ctx, &infrav1.IBMPowerVSMachine{
		ObjectMeta: member(cluster, name, owner, "Machine"),
		Spec: infrav1.IBMPowerVSMachineSpec{
			ImageRef: &infrav1.LocalObjectReference{Name: cluster}, SSHKey: sim.DefaultSSHKey,
		},
	})
}

func (f powerFleet) forgetMachine(ctx context.Context, name string) error {
	return f.delete(ctx, name, &infrav1.IBMPowerVSMachine{}, &clusterv1.Machine{}, &corev1.Secret{})
}

// forgetCluster deletes a cluster and what belongs to it, the login too. Its image goes with it.
func (f powerFleet) forgetCluster(ctx context.Context, name string) error {
	return f.delete(ctx, name, &infrav1.IBMPowerVSCluster{}, &clusterv1.Cluster{}, &corev1.Secret{})
}
