package e2e

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capi "sigs.k8s.io/cluster-api/test/e2e"
)

// The functions here describe one spec each. Flavors name the cluster templates: see config/e2e.yaml and the folder flavors.
func quickStart(ctx context.Context, e *environment, flavor string) {
	capi.QuickStartSpec(ctx, func() capi.QuickStartSpecInput {
		return capi.QuickStartSpecInput{
			E2EConfig: e.config, ClusterctlConfigPath: e.clusterctlConfig(ctx), BootstrapClusterProxy: e.management,
			ArtifactFolder: e.dir, Flavor: &flavor, PostMachinesProvisioned: validateObjects(ctx, e, flavor == "topology"),
		}
	})
}

func machineDeploymentScale(ctx context.Context, e *environment) {
	capi.MachineDeploymentScaleSpec(ctx, func() capi.MachineDeploymentScaleSpecInput {
		return capi.MachineDeploymentScaleSpecInput{
			E2EConfig: e.config, ClusterctlConfigPath: e.clusterctlConfig(ctx), BootstrapClusterProxy: e.management,
			ArtifactFolder: e.dir,
		}
	})
}

func rollout(ctx context.Context, e *environment) {
	capi.KCPAndMachineDeploymentRolloutSpec(ctx, func() capi.KCPAndMachineDeploymentRolloutSpecInput {
		return capi.KCPAndMachineDeploymentRolloutSpecInput{
			E2EConfig: e.config, ClusterctlConfigPath: e.clusterctlConfig(ctx), BootstrapClusterProxy: e.management,
			ArtifactFolder: e.dir, Flavor: "kcp-md-taints",
		}
	})
}

// rolloutOfClass replaces all machines, those of the control plane among them, twice.
func rolloutOfClass(ctx context.Context, e *environment) {
	capi.ClusterClassRolloutSpec(ctx, func() capi.ClusterClassRolloutSpecInput {
		return capi.ClusterClassRolloutSpecInput{
			E2EConfig: e.config, ClusterctlConfigPath: e.clusterctlConfig(ctx), BootstrapClusterProxy: e.management,
			ArtifactFolder: e.dir, Flavor: "topology-taints",
		}
	})
}

func machineDeploymentRemediation(ctx context.Context, e *environment) {
	capi.MachineDeploymentRemediationSpec(ctx, func() capi.MachineDeploymentRemediationSpecInput {
		return capi.MachineDeploymentRemediationSpecInput{
			E2EConfig: e.config, ClusterctlConfigPath: e.clusterctlConfig(ctx), BootstrapClusterProxy: e.management,
			ArtifactFolder: e.dir, Flavor: ptr.To("md-remediation"),
		}
	})
}

// clusterDeletion wants workers, control plane and networks to go one after the other. Its cluster has three control planes.
func clusterDeletion(ctx context.Context, e *environment) {
	capi.ClusterDeletionSpec(ctx, func() capi.ClusterDeletionSpecInput {
		return capi.ClusterDeletionSpecInput{
			E2EConfig: e.config, ClusterctlConfigPath: e.clusterctlConfig(ctx), BootstrapClusterProxy: e.management,
			ArtifactFolder: e.dir, Flavor: ptr.To("topology"), ControlPlaneMachineCount: ptr.To[int64](3),
			ClusterDeletionPhases: []capi.ClusterDeletionPhase{
				{
					ObjectFilter: func(object corev1.ObjectReference, owners []metav1.OwnerReference) bool {
						return slices.Contains([]string{"MachineDeployment", "MachineSet"}, object.Kind) ||
							isMachineOf(object, owners, "MachineSet")
					},
					BlockingObjectFilter: isMachine,
				},
				{
					ObjectFilter: func(object corev1.ObjectReference, owners []metav1.OwnerReference) bool {
						return object.Kind == "KubeadmControlPlane" || isMachineOf(object, owners, "KubeadmControlPlane")
					},
					BlockingObjectFilter: isMachine,
				},
				{ObjectFilter: e.isInfrastructure, BlockingObjectFilter: e.isInfrastructure},
			},
		}
	})
}

func isMachine(object corev1.ObjectReference, _ []metav1.OwnerReference) bool {
	return object.Kind == "Machine"
}

func isMachineOf(object corev1.ObjectReference, owners []metav1.OwnerReference, kind string) bool {
	return object.Kind == "Machine" &&
		slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return owner.Kind == kind })
}

func (s system) isInfrastructure(object corev1.ObjectReference, _ []metav1.OwnerReference) bool {
	return object.Kind == s.clusterKind
}
