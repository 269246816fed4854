package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DPUServiceSpec says what is deployed, and where.
//
// +kubebuilder:validation:XValidation:rule="!has(self.interfaces) || has(self.serviceID)",fieldPath=".interfaces",message="interfaces belong to a service: set serviceID, too"
// +kubebuilder:validation:XValidation:rule="(has(self.deployInCluster) && self.deployInCluster) == (has(oldSelf.deployInCluster) && oldSelf.deployInCluster)",fieldPath=".deployInCluster",message="a service can't move between the host cluster and DPU clusters: write another DPUService"
// +kubebuilder:validation:XValidation:rule="!(has(self.deployInCluster) && self.deployInCluster) || !has(self.interfaces)",fieldPath=".interfaces",message="only services on DPUs have interfaces: leave out deployInCluster or interfaces"
type DPUServiceSpec struct {
	// helmChart is the chart that is deployed.
	// +required
	HelmChart HelmChart `json:"helmChart,omitzero"`

	// serviceID identifies the service on the DPUs: its pods carry it as the
	// label svc.dpu.nvidia.com/service, and interfaces of type service name it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	ServiceID string `json:"serviceID,omitempty"`

	// deployInCluster deploys the chart in the host cluster instead of in each
	// DPU cluster.
	// +optional
	DeployInCluster bool `json:"deployInCluster,omitempty"`

	// serviceDaemonSet is given to the chart as the values of its DaemonSet.
	// +optional
	ServiceDaemonSet *ServiceDaemonSet `json:"serviceDaemonSet,omitempty"`

	// interfaces are DPUServiceInterfaces of this namespace that the service
	// has: they are of type service and name its serviceID. Each belongs to at
	// most one DPUService, and can't be deleted meanwhile.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Interfaces []string `json:"interfaces,omitempty"`

	// paused has everything left as it is, by us and by Argo CD, until it is
	// taken out. Deletion isn't paused.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// HelmChart is a chart with its values.
type HelmChart struct {
	// source says where the chart is.
	// +required
	Source ChartSource `json:"source,omitzero"`

	// values of the chart. Those of serviceDaemonSet are added to them.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// ChartSource says where a chart is: in a registry or a repository of charts, or in a folder of a Git repository.
//
// +kubebuilder:validation:XValidation:rule="has(self.chart) != has(self.path)",message="name either the chart in a repository of charts, or its path in a Git repository"
type ChartSource struct {
	// repoURL of the repository or the registry: without a user, a query, and
	// the segments . and .. in its path.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^(oci|https)://[A-Za-z0-9.:\[\]-]+(/([A-Za-z0-9._~+=,-]|%[0-9A-Fa-f]{2})+)*/?$`
	// +kubebuilder:validation:XValidation:rule=`!self.matches('(/|%2[Ff])([.]|%2[Ee]){1,2}(/|%2[Ff]|$)')`,message="the segments . and .. of a path lead out of what is permitted: leave them out"
	RepoURL string `json:"repoURL,omitempty"`

	// path of the chart in a Git repository.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// chart is the name of the chart in a repository of charts.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`
	Chart string `json:"chart,omitempty"`

	// version of the chart, or the Git revision.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`

	// releaseName of the Helm release; the default is the name of the
	// DPUService.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ReleaseName string `json:"releaseName,omitempty"`
}

// ServiceDaemonSet are values of a chart's DaemonSet: they override helmChart.values.serviceDaemonSet field by field.
type ServiceDaemonSet struct {
	// nodeSelector says which nodes of a DPU cluster the service runs on.
	// +optional
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty"`

	// updateStrategy of the DaemonSet.
	// +optional
	UpdateStrategy *appsv1.DaemonSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// labels of the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Labels map[string]string `json:"labels,omitempty"`

	// annotations of the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Annotations map[string]string `json:"annotations,omitempty"`
}

// DPUServiceStatus is what is known of a service.
type DPUServiceStatus struct {
	ObjectStatus `json:",inline"`
}

// ObjectStatus is what all kinds show.
type ObjectStatus struct {
	// observedGeneration is the generation of the spec that the conditions are
	// of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions of this object: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SpreadStatus is what the kinds show of which DPU clusters get something.
type SpreadStatus struct {
	ObjectStatus `json:",inline"`

	// clusters are the DPU clusters that have got something, or may have, as
	// namespace/name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	Clusters []string `json:"clusters,omitempty"`
}

// DPUService is a Helm chart that Argo CD deploys in all DPU clusters, or in the host cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=dpuservices,scope=Namespaced,categories=dpf
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="The service runs everywhere"
// +kubebuilder:printcolumn:name="Paused",type="boolean",JSONPath=".spec.paused",description="It is left as it is"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type DPUService struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what is deployed, and where.
	// +required
	Spec DPUServiceSpec `json:"spec,omitzero"`

	// status is what is known of the service.
	// +optional
	Status DPUServiceStatus `json:"status,omitzero"`
}

// DPUServiceList is a list of DPUServices.
//
// +kubebuilder:object:root=true
type DPUServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DPUService `json:"items"`
}
