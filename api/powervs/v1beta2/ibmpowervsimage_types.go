package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletePolicy says what becomes of an image whose object is deleted.
//
// +kubebuilder:validation:Enum=delete;retain
type DeletePolicy string

// Delete policies.
const (
	DeletePolicyDelete DeletePolicy = "delete"
	DeletePolicyRetain DeletePolicy = "retain"
)

// IBMPowerVSImageSpec says which image is imported, and where to.
//
// +kubebuilder:validation:XValidation:rule="!has(self.serviceInstanceID) || self.serviceInstanceID == \"\" || !has(self.serviceInstance) || !has(self.serviceInstance.name) && (!has(self.serviceInstance.id) || self.serviceInstance.id == self.serviceInstanceID)",fieldPath=".serviceInstanceID",message="serviceInstanceID, which is deprecated, and serviceInstance name different workspaces: remove serviceInstanceID"
type IBMPowerVSImageSpec struct {
	// authentication says how to log in to IBM Cloud. When it is omitted it is
	// that of the cluster. The image can be deleted after the cluster with its
	// own only.
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`

	// clusterName is the name of the Cluster that the image belongs to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName,omitempty"`

	// serviceInstanceID is the ID of the PowerVS workspace.
	//
	// Deprecated: use serviceInstance.id, from which it must not differ. Empty
	// counts as omitted.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ServiceInstanceID string `json:"serviceInstanceID,omitempty"`

	// serviceInstance is the PowerVS workspace that the image is imported to, by
	// its id or its name. When it is omitted it is that of the cluster. regex is
	// ignored, with a warning.
	// +optional
	ServiceInstance *IBMPowerVSResourceReference `json:"serviceInstance,omitempty"`

	// bucket of Cloud Object Storage that contains the image, optionally with a
	// folder: BUCKET/FOLDER.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Bucket string `json:"bucket,omitempty"`

	// object is the file name of the image in the bucket, such as rhcos.ova.gz.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Object string `json:"object,omitempty"`

	// region of the bucket, such as us-south.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+$`
	Region string `json:"region,omitempty"`

	// storageType of the image. The pool of this type that has most space is
	// taken.
	// +optional
	// +kubebuilder:default=tier1
	// +kubebuilder:validation:Enum=tier0;tier1;tier3
	StorageType string `json:"storageType,omitempty"`

	// deletePolicy says what becomes of the image when this object is deleted:
	// it is deleted, or retained.
	// +optional
	// +kubebuilder:default=delete
	DeletePolicy DeletePolicy `json:"deletePolicy,omitempty"`
}

// IBMPowerVSImageStatus is what is known of an image.
type IBMPowerVSImageStatus struct {
	// conditions of this object: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ready says whether machines can boot from the image.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// imageID is the ID of the image.
	// +optional
	ImageID string `json:"imageID,omitempty"`

	// imageState is the state of the image in PowerVS's words, such as active.
	// +optional
	ImageState string `json:"imageState,omitempty"`

	// jobID is the ID of the job that imports the image.
	// +optional
	JobID string `json:"jobID,omitempty"`
}

// IBMPowerVSImage imports an image from Cloud Object Storage into a PowerVS
// workspace. IBMPowerVSMachines refer to it as imageRef.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ibmpowervsimages,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2","cluster.x-k8s.io/provider=infrastructure-powervs","clusterctl.cluster.x-k8s.io="}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster that this object belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Machines can boot from the image"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is not ready"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.imageState",description="State of the image in PowerVS's words"
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".status.imageID",description="ID of the image",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type IBMPowerVSImage struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says which image is imported, and where to. Only authentication and
	// deletePolicy can be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.clusterName) == has(oldSelf.clusterName) && (!has(self.clusterName) || self.clusterName == oldSelf.clusterName)",fieldPath=".clusterName",message="clusterName is immutable: write another one, or delete this one and write it again"
	// +kubebuilder:validation:XValidation:rule="has(self.bucket) == has(oldSelf.bucket) && (!has(self.bucket) || self.bucket == oldSelf.bucket)",fieldPath=".bucket",message="bucket is immutable: write another one, or delete this one and write it again"
	// +kubebuilder:validation:XValidation:rule="has(self.object) == has(oldSelf.object) && (!has(self.object) || self.object == oldSelf.object)",fieldPath=".object",message="object is immutable: write another one, or delete this one and write it again"
	// +kubebuilder:validation:XValidation:rule="has(self.region) == has(oldSelf.region) && (!has(self.region) || self.region == oldSelf.region)",fieldPath=".region",message="region is immutable: write another one, or delete this one and write it again"
	// +kubebuilder:validation:XValidation:rule="has(self.storageType) == has(oldSelf.storageType) && (!has(self.storageType) || self.storageType == oldSelf.storageType)",fieldPath=".storageType",message="storageType is immutable: write another one, or delete this one and write it again"
	// +kubebuilder:validation:XValidation:rule="(has(self.serviceInstance) && has(self.serviceInstance.id) ? self.serviceInstance.id : has(self.serviceInstanceID) ? self.serviceInstanceID : '') == (has(oldSelf.serviceInstance) && has(oldSelf.serviceInstance.id) ? oldSelf.serviceInstance.id : has(oldSelf.serviceInstanceID) ? oldSelf.serviceInstanceID : '') && (has(self.serviceInstance) && has(self.serviceInstance.name) ? self.serviceInstance.name : '') == (has(oldSelf.serviceInstance) && has(oldSelf.serviceInstance.name) ? oldSelf.serviceInstance.name : '')",fieldPath=".serviceInstance",message="serviceInstance is immutable: write another one, or delete this one and write it again"
	Spec IBMPowerVSImageSpec `json:"spec,omitzero"`

	// status is what is known of the image.
	// +optional
	Status IBMPowerVSImageStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (i *IBMPowerVSImage) GetConditions() []metav1.Condition { return i.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (i *IBMPowerVSImage) SetConditions(conditions []metav1.Condition) {
	i.Status.Conditions = conditions
}

// IBMPowerVSImageList is a list of IBMPowerVSImages.
//
// +kubebuilder:object:root=true
type IBMPowerVSImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IBMPowerVSImage `json:"items"`
}
