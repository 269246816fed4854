package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Use is the part of a cloud's description that doesn't depend on its type.
func (s *CloudSpec) Use() CloudUse {
	switch {
	case s.OpenStack != nil:
		return s.OpenStack.CloudUse
	case s.IM != nil:
		return s.IM.CloudUse
	}
	return CloudUse{} // the CRD's rules allow none such
}

// SecretRef names the Secret with the login to the cloud.
func (s *CloudSpec) SecretRef() SecretReference {
	switch {
	case s.OpenStack != nil:
		return s.OpenStack.Auth.Password.SecretRef
	case s.IM != nil:
		return s.IM.SecretRef
	}
	return SecretReference{}
}

// AnyCloud is a Cloud or a GlobalCloud.
//
// +kubebuilder:object:generate=false
type AnyCloud interface {
	runtime.Object
	metav1.Object
	Reference() CloudReference
	Described() *CloudSpec
	Known() *CloudStatus
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// Kinds of clouds.
const (
	KindCloud       = "Cloud"
	KindGlobalCloud = "GlobalCloud"
)

// Reference to the cloud.
func (c *Cloud) Reference() CloudReference { return CloudReference{Kind: KindCloud, Name: c.Name} }

// Reference to the cloud.
func (c *GlobalCloud) Reference() CloudReference {
	return CloudReference{Kind: KindGlobalCloud, Name: c.Name}
}

// Described is the spec.
func (c *Cloud) Described() *CloudSpec { return &c.Spec }

// Described is the spec.
func (c *GlobalCloud) Described() *CloudSpec { return &c.Spec }

// Known is the status.
func (c *Cloud) Known() *CloudStatus { return &c.Status }

// Known is the status.
func (c *GlobalCloud) Known() *CloudStatus { return &c.Status }

// GetConditions returns the conditions of the object.
func (c *Cloud) GetConditions() []metav1.Condition { return c.Status.Conditions }

// GetConditions returns the conditions of the object.
func (c *GlobalCloud) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (c *Cloud) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// SetConditions replaces the conditions of the object.
func (c *GlobalCloud) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }
