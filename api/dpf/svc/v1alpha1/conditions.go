package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ReadyCondition of any kind sums up all others.
const ReadyCondition = "Ready"

// Conditions of a DPUService. Each is True when its subject is as the spec wants it; otherwise its message names the object concerned and
// the remedy.
const (
	// ApplicationPrereqsReconciledCondition: Argo CD knows the DPU clusters and the projects.
	ApplicationPrereqsReconciledCondition = "ApplicationPrereqsReconciled"
	// ApplicationsReconciledCondition: the Applications are those of the spec.
	ApplicationsReconciledCondition = "ApplicationsReconciled"
	// ApplicationsReadyCondition: Argo CD has synced all Applications, and they are healthy.
	ApplicationsReadyCondition = "ApplicationsReady"
	// DPUServiceInterfaceReconciledCondition: the service has the interfaces that the spec names.
	DPUServiceInterfaceReconciledCondition = "DPUServiceInterfaceReconciled"
)

// Conditions of a DPUServiceChain, a DPUServiceInterface and a DPUServiceIPAM.
const (
	// ServiceChainSetReconciledCondition: each chosen DPU cluster has the ServiceChainSet.
	ServiceChainSetReconciledCondition = "ServiceChainSetReconciled"
	// ServiceChainSetReadyCondition: each of them is ready.
	ServiceChainSetReadyCondition = "ServiceChainSetReady"
	// ServiceInterfaceSetReconciledCondition: each chosen DPU cluster has the ServiceInterfaceSet.
	ServiceInterfaceSetReconciledCondition = "ServiceInterfaceSetReconciled"
	// ServiceInterfaceSetReadyCondition: each of them is ready.
	ServiceInterfaceSetReadyCondition = "ServiceInterfaceSetReady"
	// DPUIPAMObjectReconciledCondition: each chosen DPU cluster has the pool.
	DPUIPAMObjectReconciledCondition = "DPUIPAMObjectReconciled"
	// DPUIPAMObjectReadyCondition: each of them has addresses for its nodes.
	DPUIPAMObjectReadyCondition = "DPUIPAMObjectReady"
)

// Conditions of a ServiceChainSet and a ServiceInterfaceSet.
const (
	// ServiceChainsReconciledCondition: each chosen node has its ServiceChain, and no other node has one.
	ServiceChainsReconciledCondition = "ServiceChainsReconciled"
	// ServiceChainsReadyCondition: each of them is ready.
	ServiceChainsReadyCondition = "ServiceChainsReady"
	// ServiceInterfacesReconciledCondition: each chosen node has its ServiceInterface, and no other node has one.
	ServiceInterfacesReconciledCondition = "ServiceInterfacesReconciled"
	// ServiceInterfacesReadyCondition: each of them is ready.
	ServiceInterfacesReadyCondition = "ServiceInterfacesReady"
)

// Reasons of conditions.
const (
	// ReasonSuccess: it is as it should be.
	ReasonSuccess = "Success"
	// ReasonPending: something else has to be done first.
	ReasonPending = "Pending"
	// ReasonError: a call has failed; it is repeated.
	ReasonError = "Error"
	// ReasonFailure: a person has to correct something.
	ReasonFailure = "Failure"
	// ReasonAwaitingDeletion: the object is being deleted, and something that was made of it is still there.
	ReasonAwaitingDeletion = "AwaitingDeletion"
)

// Finalizers.
const (
	// DPUServiceFinalizer keeps a DPUService until its Applications are gone.
	DPUServiceFinalizer = "svc.dpu.nvidia.com/dpuservice"
	// DPUServiceChainFinalizer keeps a DPUServiceChain until its ServiceChainSets are gone.
	DPUServiceChainFinalizer = "svc.dpu.nvidia.com/dpuservicechain"
	// DPUServiceInterfaceFinalizer keeps a DPUServiceInterface until its ServiceInterfaceSets are gone.
	DPUServiceInterfaceFinalizer = "svc.dpu.nvidia.com/dpuserviceinterface"
	// DPUServiceIPAMFinalizer keeps a DPUServiceIPAM until its pools are gone.
	DPUServiceIPAMFinalizer = "svc.dpu.nvidia.com/dpuserviceipam"
	// InUseFinalizer keeps a DPUServiceInterface while a DPUService has it: see UsedByAnnotation.
	InUseFinalizer = "svc.dpu.nvidia.com/in-use"
	// ServiceChainSetFinalizer keeps a ServiceChainSet until its ServiceChains are gone.
	ServiceChainSetFinalizer = "svc.dpu.nvidia.com/servicechainset"
	// ServiceInterfaceSetFinalizer keeps a ServiceInterfaceSet until its ServiceInterfaces are gone.
	ServiceInterfaceSetFinalizer = "svc.dpu.nvidia.com/serviceinterfaceset"
	// ServiceInterfaceFinalizer keeps a ServiceInterface until its DPU's agent has removed it.
	ServiceInterfaceFinalizer = "svc.dpu.nvidia.com/serviceinterface"
	// ServiceChainFinalizer keeps a ServiceChain until its DPU's agent has removed it.
	ServiceChainFinalizer = "svc.dpu.nvidia.com/servicechain"
)

// UsedByAnnotation of a DPUServiceInterface names the DPUService of its namespace that has it.
const UsedByAnnotation = "svc.dpu.nvidia.com/used-by"

// AbandonAnnotation with the value "true" lets a deleted object go although something that was made of it is still there, or can't
// be looked for: such as in a DPU cluster that is gone for good. An event lists what is left.
const AbandonAnnotation = "svc.dpu.nvidia.com/abandon"

// ServiceIDLabel of the pods of a service, and of the ServiceInterfaces that a service has.
const ServiceIDLabel = "svc.dpu.nvidia.com/service"

// NetworksAnnotation of pods asks Multus for their networks.
const NetworksAnnotation = "k8s.v1.cni.cncf.io/networks"

// Object is any kind of this package.
//
// +kubebuilder:object:generate=false
type Object interface {
	metav1.Object
	runtime.Object
	// GetStatus returns the part of the status that all kinds have, to be read and changed.
	GetStatus() *ObjectStatus
}

// GetStatus implements Object.
func (o *DPUService) GetStatus() *ObjectStatus { return &o.Status.ObjectStatus }

// GetStatus implements Object.
func (o *DPUServiceChain) GetStatus() *ObjectStatus { return &o.Status.ObjectStatus }

// GetStatus implements Object.
func (o *DPUServiceInterface) GetStatus() *ObjectStatus { return &o.Status.ObjectStatus }

// GetStatus implements Object.
func (o *DPUServiceIPAM) GetStatus() *ObjectStatus { return &o.Status.ObjectStatus }

// GetStatus implements Object.
func (o *ServiceChain) GetStatus() *ObjectStatus { return &o.Status.ObjectStatus }

// GetStatus implements Object.
func (o *ServiceChainSet) GetStatus() *ObjectStatus { return &o.Status.ObjectStatus }

// GetStatus implements Object.
func (o *ServiceInterface) GetStatus() *ObjectStatus { return &o.Status.ObjectStatus }

// GetStatus implements Object.
func (o *ServiceInterfaceSet) GetStatus() *ObjectStatus { return &o.Status.ObjectStatus }

// Spread is a kind of which DPU clusters get something.
//
// +kubebuilder:object:generate=false
type Spread interface {
	Object
	// GetSpread returns which clusters do, to be read and changed.
	GetSpread() *SpreadStatus
}

// GetSpread implements Spread.
func (o *DPUServiceChain) GetSpread() *SpreadStatus { return &o.Status.SpreadStatus }

// GetSpread implements Spread.
func (o *DPUServiceInterface) GetSpread() *SpreadStatus { return &o.Status.SpreadStatus }

// GetSpread implements Spread.
func (o *DPUServiceIPAM) GetSpread() *SpreadStatus { return &o.Status.SpreadStatus }
