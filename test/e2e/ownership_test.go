package e2e

import (
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlcluster "sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/cluster-api/test/framework"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

type (
	owners     = map[string]func(types.NamespacedName, []metav1.OwnerReference) error
	finalizers = map[string]func(types.NamespacedName) []string
)

// validateObjects checks, as Cluster API does with its own providers, that a cluster's objects get back the owners and
// finalizers that another client removed, and that they aren't written when nothing changes.
func validateObjects(ctx context.Context, e *environment, withClass bool) func(framework.ClusterProxy, string, string) {
	return func(management framework.ClusterProxy, namespace, name string) {
		filter := clusterctlcluster.FilterClusterObjectsWithNameFilter(name)
		owned := []owners{
			framework.CoreOwnerReferenceAssertion, framework.ExpOwnerReferenceAssertions,
			framework.KubeadmBootstrapOwnerReferenceAssertions, framework.KubeadmControlPlaneOwnerReferenceAssertions(withClass),
			e.ownersOfOurs(withClass), e.ownersOfSecrets(name),
		}
		framework.ValidateOwnerReferencesResilience(ctx, management, namespace, name, filter, owned...)
		framework.ValidateOwnerReferencesOnUpdate(ctx, management, namespace, name, filter, owned...)

		core := framework.CoreFinalizersAssertionWithLegacyClusters
		if withClass {
			core = framework.CoreFinalizersAssertionWithClassyClusters
		}
		framework.ValidateFinalizersResilience(ctx, management, namespace, name, filter, core,
			framework.KubeadmControlPlaneFinalizersAssertion, framework.ExpFinalizersAssertion, e.finalizersOfOurs(name))
		framework.ValidateResourceVersionStable(ctx, framework.ValidateResourceVersionStableInput{
			ClusterProxy: management, Namespace: namespace, OwnerGraphFilterFunction: filter,
			WaitToBecomeStable: e.config.GetIntervals("quick-start", "wait-resource-versions-become-stable"),
			WaitToRemainStable: e.config.GetIntervals("quick-start", "wait-resource-versions-remain-stable"),
		})
	}
}

// ownersOfOurs says who owns Bedplate's objects. A Cluster controls what it has created from a class.
func (s system) ownersOfOurs(withClass bool) owners {
	core := clusterv1.GroupVersion.String()
	owner := metav1.OwnerReference{APIVersion: core, Kind: "Cluster"}
	class := metav1.OwnerReference{APIVersion: core, Kind: "ClusterClass"}
	machine := metav1.OwnerReference{APIVersion: core, Kind: "Machine", Controller: ptr.To(true)}
	ofCluster := owner
	if withClass {
		ofCluster.Controller = ptr.To(true)
	}
	return owners{
		s.clusterKind: func(_ types.NamespacedName, got []metav1.OwnerReference) error {
			return framework.HasExactOwners(got, ofCluster)
		},
		"Ledger": func(_ types.NamespacedName, got []metav1.OwnerReference) error {
			of := func(kind string) []metav1.OwnerReference {
				return []metav1.OwnerReference{{APIVersion: s.version.String(), Kind: kind}}
			}
			return framework.HasOneOfExactOwners(got, of(s.clusterKind), of(s.machineKind), of(s.imageKind))
		},
		s.clusterKind + "Template": func(_ types.NamespacedName, got []metav1.OwnerReference) error {
			return framework.HasExactOwners(got, class)
		},
		s.machineKind: func(_ types.NamespacedName, got []metav1.OwnerReference) error {
			return framework.HasExactOwners(got, machine)
		},
		s.machineKind + "Template": func(_ types.NamespacedName, got []metav1.OwnerReference) error {
			return framework.HasOneOfExactOwners(got, []metav1.OwnerReference{owner}, []metav1.OwnerReference{class})
		},
		s.imageKind: func(_ types.NamespacedName, got []metav1.OwnerReference) error {
			return framework.HasExactOwners(got, owner)
		},
	}
}

// ownersOfSecrets are Cluster API's, but for the credentials, which are the user's own, and those for the nodes.
func (s system) ownersOfSecrets(cluster string) owners {
	set := metav1.OwnerReference{APIVersion: addonsv1.GroupVersion.String(), Kind: "ClusterResourceSet"}
	all := maps.Clone(framework.KubernetesReferenceAssertions)
	byKubeadm := all["Secret"]
	all["Secret"] = func(secret types.NamespacedName, got []metav1.OwnerReference) error {
		switch secret.Name {
		case cluster + s.credentials:
			return framework.HasExactOwners(got)
		case cluster + "-" + s.name + "-ccm":
			return framework.HasExactOwners(got, set)
		}
		return byKubeadm(secret, got)
	}
	return all
}

func (s system) finalizersOfOurs(cluster string) finalizers {
	all := finalizers{"Ledger": func(types.NamespacedName) []string { return []string{ledgerv1.Finalizer} }}
	for kind, finalizer := range s.finalizers {
		all[kind] = func(object types.NamespacedName) []string {
			if kind == "Secret" && object.Name != cluster+s.credentials {
				return nil
			}
			return []string{finalizer}
		}
	}
	return all
}
