package capi

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/fault"
)

// AroundMachine reads the objects around an infrastructure machine: its Machine, its Cluster, and into infra, found, the cluster's
// infrastructure object of a kind. On deletion any of them may be gone already; those are nil.
func AroundMachine(
	ctx context.Context, c client.Client, of metav1.ObjectMeta, kind string, infra client.Object,
) (machine *clusterv1.Machine, cluster *clusterv1.Cluster, found bool, err error) {
	machine, err = util.GetOwnerMachine(ctx, c, of)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, false, fmt.Errorf("get the owning Machine: %w", err)
	}
	cluster, err = util.GetClusterFromMetadata(ctx, c, of)
	if client.IgnoreNotFound(err) != nil && !errors.Is(err, util.ErrNoCluster) {
		return nil, nil, false, fmt.Errorf("get the Cluster: %w", err)
	}
	if cluster == nil {
		return machine, nil, false, nil
	}
	name := types.NamespacedName{Namespace: of.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	err = c.Get(ctx, name, infra)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, false, fmt.Errorf("get %s %s: %w", kind, name, err)
	}
	return machine, cluster, err == nil, nil
}

// NoLogin says why nothing names the credentials of an infrastructure machine: the infrastructure object of its Cluster, of a kind, would.
func NoLogin(of metav1.ObjectMeta, cluster *clusterv1.Cluster, kind string) error {
	name, labelled := of.Labels[clusterv1.ClusterNameLabel]
	switch {
	case !labelled:
		return fault.Invalidf("there is no label %s, which says whose credentials to use: put it back", clusterv1.ClusterNameLabel)
	case cluster == nil:
		return fault.Invalidf("there is no Cluster %s, whose %s names the credentials: create it again", name, kind)
	}
	return fault.Invalidf("there is no %s %s of Cluster %s, which names the credentials: create it again", kind, cluster.Spec.InfrastructureRef.Name, name)
}
