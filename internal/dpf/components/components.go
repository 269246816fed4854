// Package components is what the operator deploys: manifests on the host cluster, and DPUServices for DPU clusters. They are rendered of
// embedded manifests and the configuration, and applied as one ApplySet, so that what isn't wanted any more goes.
package components

import (
	"fmt"
	"regexp"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/version"
)

// BFBClaim is the PersistentVolumeClaim that NVIDIA's provisioning controller keeps BlueField images on. It is bound to
// bfbPersistentVolume.
const BFBClaim = "bfb-pvc"

// HostNetworkProvisioner is the name of the DaemonSet of the component, of its ConfigMap, and of its Pods' label app.kubernetes.io/name.
const HostNetworkProvisioner = "dpf-hostnetworkprovisioner"

// HostNetworkCleanUp is likewise of the DaemonSet that takes away what that has made.
const HostNetworkCleanUp = HostNetworkProvisioner + "-clean-up"

// DPUServiceController is the name of the Deployment of the component, and of its Pods' label app.kubernetes.io/name.
const DPUServiceController = "dpf-dpuservice-controller"

// Place is where a component runs.
type Place string

// Places.
const (
	HostCluster Place = "host cluster"
	DPUClusters Place = "DPU clusters"
)

// Owner is who makes a component.
type Owner string

// Owners.
const (
	Bedplate  Owner = "Bedplate"
	NVIDIA    Owner = "NVIDIA"
	OpenShift Owner = "OpenShift"
)

// Component is a row of the table of components.
type Component struct {
	// Key in imageOverrides.
	Key operatorv1.Component
	// Place where it runs.
	Place Place
	// Image without an override: of ours, the last part of the name.
	Image string
	// Owner of the image.
	Owner Owner
	// Does says what for.
	Does string
	// Network: it is there only while the network of workers is to be on their DPUs.
	Network bool
	// Copied: it isn't deployed as a component, but made of what the cluster has when the network is moved.
	Copied bool
}

// Table has a row for each component: those on the host cluster are manifests, the others DPUServices.
var Table = []Component{
	{Key: operatorv1.ComponentDPUService, Place: HostCluster, Image: "dpf-dpuservice-manager", Owner: Bedplate,
		Does: "deploys DPUServices by Argo CD, and mirrors pull secrets"},
	{Key: operatorv1.ComponentServiceFunctionChain, Place: HostCluster, Image: "dpf-dpuservice-manager", Owner: Bedplate,
		Does: "brings DPUServiceChains, DPUServiceInterfaces and DPUServiceIPAMs to DPU clusters"},
	{Key: operatorv1.ComponentProvisioning, Place: HostCluster, Image: "nvcr.io/nvidia/doca/dpf-system:v25.7.0", Owner: NVIDIA,
		Does: "provisions DPUs"},
	{Key: operatorv1.ComponentServiceChainSet, Place: DPUClusters, Image: "dpf-dpu-manager", Owner: Bedplate,
		Does: "makes a ServiceChain of each ServiceChainSet for each of its nodes"},
	{Key: operatorv1.ComponentServiceChain, Place: DPUClusters, Image: "dpf-dpu-agent", Owner: Bedplate,
		Does: "connects the ports of ServiceChains on a DPU"},
	{Key: operatorv1.ComponentServiceIPAMSet, Place: DPUClusters, Image: "ghcr.io/mellanox/nvidia-k8s-ipam:v0.3.7", Owner: NVIDIA,
		Does: "gives each node its part of a pool of addresses"},
	{Key: operatorv1.ComponentServiceIPAM, Place: DPUClusters, Image: "ghcr.io/mellanox/nvidia-k8s-ipam:v0.3.7", Owner: NVIDIA,
		Does: "gives addresses to the interfaces on a node"},
	{Key: operatorv1.ComponentServiceInterfaceSet, Place: DPUClusters, Image: "dpf-dpu-manager", Owner: Bedplate,
		Does: "makes a ServiceInterface of each ServiceInterfaceSet for each of its nodes"},
	{Key: operatorv1.ComponentServiceInterface, Place: DPUClusters, Image: "dpf-dpu-agent", Owner: Bedplate,
		Does: "makes the ports of ServiceInterfaces on a DPU"},
	{Key: operatorv1.ComponentHostNetworkProvisioner, Place: HostCluster, Image: "dpu-host-network-provisioner", Owner: Bedplate,
		Network: true, Does: "sets up the host's side of a worker's network"},
	{Key: operatorv1.ComponentDPUCNIProvisioner, Place: DPUClusters, Image: "dpu-cni-provisioner", Owner: Bedplate, Network: true,
		Does: "sets up the DPU's side of a worker's network"},
	{Key: operatorv1.ComponentOVNKubernetes, Place: HostCluster, Owner: OpenShift, Network: true, Copied: true,
		Does: "is ovn-kubernetes on workers whose network is on their DPU; without an override it has the cluster's own image"},
}

// Release says where images and charts of ours are.
type Release struct {
	// Registry of images, such as ghcr.io/bedplate.
	Registry string
	// Charts is the registry of charts, such as oci://ghcr.io/bedplate/charts.
	Charts string
	// Version of both.
	Version string
	// SourceRepos are patterns, with commas between them, of where the charts of users' DPUServices may come from; "": from anywhere.
	SourceRepos string
}

// Defaults of a Release.
const (
	DefaultRegistry = "ghcr.io/bedplate"
	DefaultCharts   = "oci://ghcr.io/bedplate/charts"
	unreleased      = "latest"
)

// SourceReposVariable of the operator's environment has the default of SourceRepos: a Subscription of OLM's can set it, but no flag.
const SourceReposVariable = "SERVICE_SOURCE_REPOS"

var released = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// Version of images and charts that belong to this program. A build that is no release has the newest images.
func Version() string {
	if v := version.Get(); released.MatchString(v) {
		return v
	}
	return unreleased
}

// anyChart is the newest one, also of those before a release: of charts there is no tag latest.
const anyChart = ">=0.0.0-0"

// chart is the version of charts.
func (r Release) chart() string {
	if r.Version == unreleased {
		return anyChart
	}
	return r.Version
}

// image of a component, with the user's override before all.
func (r Release) image(c Component, config *operatorv1.DPFOperatorConfig) string {
	if image, overridden := config.Spec.ImageOverrides[string(c.Key)]; overridden {
		return string(image)
	}
	if c.Owner == Bedplate {
		return fmt.Sprintf("%s/%s:%s", r.Registry, c.Image, r.Version)
	}
	return c.Image
}
