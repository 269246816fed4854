package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const (
	fleetNamespace = "fleet"
	// userDataSize in bytes is that of a kubeadm join with a few files of the user's own.
	userDataSize = 8 << 10
	// writers create and delete objects at the same time.
	writers = 8
)

// fleet makes the objects that Cluster API would make: what the manager reads is the same.
type fleet struct {
	client client.Client
	// namespace is fleetNamespace where it is empty; at is the simulated site.
	namespace string
	at        infrav1.SiteReference
}

// login creates a Secret that clusters log in with.
func (f fleet) login(ctx context.Context, secret, endpoint string) error {
	return f.create(ctx, &corev1.Secret{ObjectMeta: named(secret), Data: map[string][]byte{
		"endpoint": []byte(endpoint), "orgName": []byte(sim.DefaultOrg), "token": []byte(sim.DefaultToken),
	}})
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: fleetNamespace, Name: name}
}

// member is an object that belongs to a cluster and is owned by another object.
func member(cluster, name string, owner client.Object, kind string) metav1.ObjectMeta {
	meta := named(name)
	meta.Labels = map[string]string{clusterv1.ClusterNameLabel: cluster}
	if owner != nil {
		meta.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind(kind))}
	}
	return meta
}

func (f fleet) createCluster(ctx context.Context, name, secret string) error {
	owner := &clusterv1.Cluster{ObjectMeta: named(name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: reference("NvidiaBMMCluster", name),
	}}
	if err := f.create(ctx, owner); err != nil {
		return err
	}
	return f.create(ctx, &infrav1.NvidiaBMMCluster{
		ObjectMeta: member(name, name, owner, "Cluster"),
		Spec: infrav1.NvidiaBMMClusterSpec{
			SiteRef: cmp.Or(f.at, infrav1.SiteReference{Name: "site-1"}), TenantID: sim.DefaultTenantID,
			Authentication:       infrav1.Authentication{SecretRef: infrav1.SecretReference{Name: secret}},
			Subnets:              []infrav1.SubnetSpec{{Name: "nodes", PrefixLength: ptr.To[int32](22)}},
			ControlPlaneEndpoint: &infrav1.APIEndpoint{Host: "127.0.0.1", Port: 6443},
		},
	})
}

func reference(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
}

func (f fleet) createMachine(ctx context.Context, cluster, name string) error {
	owner, err := f.createOwner(ctx, "NvidiaBMMMachine", member(cluster, name, nil, ""))
	if err != nil {
		return err
	}
	return f.create(ctx, &infrav1.NvidiaBMMMachine{
		ObjectMeta: member(cluster, name, owner, "Machine"),
		Spec: infrav1.NvidiaBMMMachineSpec{InstanceSpec: infrav1.InstanceSpec{
			InstanceType:    infrav1.InstanceTypeReference{ID: sim.DefaultInstanceTypeID},
			OperatingSystem: infrav1.OperatingSystemReference{ID: sim.DefaultOperatingSystemID},
			Network:         infrav1.NetworkSpec{NetworkInterface: infrav1.NetworkInterface{SubnetName: "nodes"}},
		}},
	})
}

// createOwner makes a Machine for an object of a kind, and its bootstrap data.
func (f fleet) createOwner(ctx context.Context, kind string, meta metav1.ObjectMeta) (*clusterv1.Machine, error) {
	data := "#cloud-config\n# " + meta.Name + "\n"
	data += strings.Repeat("#", userDataSize-len(data))
	secret := &corev1.Secret{ObjectMeta: meta, Type: clusterv1.ClusterSecretType, Data: map[string][]byte{"value": []byte(data)}}
	owner := &clusterv1.Machine{ObjectMeta: meta, Spec: clusterv1.MachineSpec{
		ClusterName: meta.Labels[clusterv1.ClusterNameLabel], InfrastructureRef: reference(kind, meta.Name),
		Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To(meta.Name)},
	}}
	return owner, f.create(ctx, secret, owner)
}

func (f fleet) create(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		object.SetNamespace(cmp.Or(f.namespace, object.GetNamespace()))
		if err := f.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// forgetMachine deletes a machine and what belongs to it, all at once.
func (f fleet) forgetMachine(ctx context.Context, name string) error {
	return f.delete(ctx, name, &infrav1.NvidiaBMMMachine{}, &clusterv1.Machine{}, &corev1.Secret{})
}

// forgetCluster deletes a cluster and what belongs to it, the login too, all at once. Its machines may still be on their way
// out.
func (f fleet) forgetCluster(ctx context.Context, name string) error {
	return f.delete(ctx, name, &infrav1.NvidiaBMMCluster{}, &clusterv1.Cluster{}, &corev1.Secret{})
}

// delete objects that have the same name.
func (f fleet) delete(ctx context.Context, name string, objects ...client.Object) error {
	for _, object := range objects {
		object.SetNamespace(fleetNamespace)
		object.SetName(name)
		if err := f.client.Delete(ctx, object); err != nil {
			return fmt.Errorf("delete %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// each does something for a number of things, several at a time.
func each(ctx context.Context, number int, do func(ctx context.Context, n int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for n := range number {
		group.Go(func() error { return do(ctx, n) })
	}
	return group.Wait()
}

func clusterName(n int) string { return fmt.Sprintf("c%03d", n) }

func machineName(n int) string { return fmt.Sprintf("m%05d", n) }
