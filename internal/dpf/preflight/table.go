package preflight

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Table has a row for each prerequisite of the design, in its order, and for what the configuration says of the clusters. That a cluster is
// dedicated to this can't be detected.
var Table = []Prerequisite{
	{
		Name: "OCP cluster", check: platform,
		Detected: "ClusterVersion version has the condition Available",
		Remedy:   "install this on an OpenShift cluster that is available",
	},
	{
		Name: "clean OCP cluster", Warning: true, check: clean,
		Detected: "ClusterVersion version is neither Failing nor Progressing, and has no overrides but the operator's",
		Remedy:   "finish the upgrade of the cluster, and remove the overrides",
	},
	{
		Name: "ovn-kubernetes", Network: true, check: ovnKubernetes,
		Detected: "Deployment openshift-network-operator/network-operator; in openshift-ovn-kubernetes DaemonSet ovnkube-node with a container " +
			"ovnkube-controller, ConfigMaps ovnkube-config and ovnkube-script-lib with ovnkube.conf and ovnkube-lib.sh",
		Remedy: "the cluster network has to be OVN-Kubernetes of a supported OpenShift release",
	},
	{
		Name: "topology", Network: true, check: topology,
		Detected: "each host has an InternalIP in machineNetwork of kube-system/cluster-config-v1",
		Remedy:   "give the nodes addresses in machineNetwork",
	},
	{
		Name: "separate ranges", Network: true, check: ranges,
		Detected: "CIDR overlaps none of clusterNetwork, serviceNetwork and machineNetwork of kube-system/cluster-config-v1",
		Remedy:   "choose a CIDR that the cluster doesn't use",
	},
	{
		Name: "Argo CD", check: argoCD,
		Detected: "kinds Application and AppProject of argoproj.io/v1alpha1; in dpf-operator-system a repo-server and an " +
			"application-controller (label app.kubernetes.io/part-of=argocd) with an available replica",
		Remedy: "install Argo CD in dpf-operator-system, such as by an ArgoCD object of OpenShift GitOps there: one in another namespace " +
			"doesn't read the AppProjects and cluster Secrets of this one",
	},
	{
		Name: "Kamaji", check: kamaji,
		Detected: "kind TenantControlPlane of kamaji.clastix.io/v1alpha1; a Deployment with the label app.kubernetes.io/name=kamaji and an " +
			"available replica",
		Remedy: "install Kamaji",
	},
	{
		Name: "a TenantControlPlane", check: tenant,
		Detected: "there is one whose status.kubernetesResources.version.status is Ready",
		Remedy:   "create a TenantControlPlane for the DPUs, and look at its status",
	},
	{
		Name: "connection of the TenantControlPlane", check: connection,
		Detected: "a Service of type LoadBalancer or ClusterIP, and status.controlPlaneEndpoint is set",
		Remedy:   "choose one of these types, and install a provider of load balancers, such as MetalLB, for the first",
	},
	{
		Name: "volumes for Kamaji", Warning: true, check: volumes,
		Detected: "there is a StorageClass or a PersistentVolume",
		Remedy:   "make volumes available to Kamaji's datastore",
	},
	{
		Name: "volume for provisioning", check: bfbVolume,
		Detected: "PersistentVolume bfbPersistentVolume has the access modes ReadOnlyMany and ReadWriteOnce, and belongs to no other claim",
		Remedy:   "create this PersistentVolume, or name another one in spec.bfbPersistentVolume",
	},
	{
		Name: "image pull secrets", check: pullSecrets,
		Detected: "each Secret of imagePullSecrets is in dpf-operator-system and has the type kubernetes.io/dockerconfigjson",
		Remedy:   "create them with kubectl create secret docker-registry",
	},
	{
		Name: "Node Feature Discovery", check: nfd,
		Detected: "kind NodeFeatureDiscovery of nfd.openshift.io/v1, or NodeFeature of nfd.k8s-sigs.io/v1alpha1",
		Remedy:   "install the NFD operator",
	},
	{
		Name: "detection of DPUs", Network: true, check: detected,
		Detected: "a node has the label feature.node.kubernetes.io/dpu-enabled=true",
		Remedy:   "configure Node Feature Discovery for DPUs",
	},
	{
		Name: "NM operator", check: nmState,
		Detected: "kind NodeNetworkConfigurationPolicy of nmstate.io/v1, and a NMState",
		Remedy:   "install the NMState operator, and create a NMState",
	},
	{
		Name: "cert-manager", check: certManager,
		Detected: "kind Certificate of cert-manager.io/v1; a Deployment with the labels app.kubernetes.io/name=cert-manager and " +
			"app.kubernetes.io/component=controller and an available replica",
		Remedy: "install the cert-manager operator",
	},
	{
		Name: "VF tool", Warning: true, check: kinds(schema.GroupVersionKind{
			Group: "sriovnetwork.openshift.io", Version: "v1", Kind: "SriovNetworkNodePolicy"}),
		Detected: "kind SriovNetworkNodePolicy of sriovnetwork.openshift.io/v1; another tool can't be detected",
		Remedy:   "install the SR-IOV network operator, or make the virtual functions in another way",
	},
	{
		Name: "admission of services", Warning: true, check: admission,
		Detected: "ValidatingAdmissionPolicies bedplate-dpf-services and bedplate-dpf-services-end, and the bindings of these names; another tool " +
			"can't be detected",
		Remedy: "apply cluster.yaml of the bundle: without it who may create DPUServices in a project of their own is root on the DPUs",
	},
	{
		Name: "hosts", Network: true, check: hosts,
		Detected: "each hostClusterNodeName is a node of the host cluster",
		Remedy:   "correct hostNetworkConfiguration.hosts",
	},
	{
		Name: "DPUs", Network: true, check: dpus,
		Detected: "each dpuClusterNodeName is a node of exactly one DPU cluster",
		Remedy:   "provision the DPUs, or correct hostNetworkConfiguration.hosts",
	},
	{
		Name: "an entry for each host", Network: true, check: entries,
		Detected: "each node with the label feature.node.kubernetes.io/dpu-enabled=true is in hosts",
		Remedy:   "add them to hostNetworkConfiguration.hosts",
	},
	{
		Name: "a DPU in each host", Network: true, Warning: true, check: labelled,
		Detected: "each node in hosts has the label feature.node.kubernetes.io/dpu-enabled=true; the network of others isn't moved",
		Remedy:   "look at the features that Node Feature Discovery has found there",
	},
}
