// Package webhook refuses what only the other objects show to be wrong: an address outside the group's network, or one that
// somebody else has. Two objects that come at the same moment are both let in; then the controller refuses the younger one.
package webhook

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
)

// +kubebuilder:webhookconfiguration:mutating=false,name=bedplate-hydrazine-webhooks
// +kubebuilder:webhook:path=/validate-resource-bedplate-dev-v1alpha1-managedresource,mutating=false,failurePolicy=fail,sideEffects=None,groups=resource.bedplate.dev,resources=managedresources,verbs=create;update,versions=v1alpha1,name=validation.managedresource.resource.bedplate.dev,admissionReviewVersions=v1,serviceName=bedplate-hydrazine-webhooks,serviceNamespace=bedplate-hydrazine-system
// +kubebuilder:webhook:path=/validate-resource-bedplate-dev-v1alpha1-resourcegroup,mutating=false,failurePolicy=fail,sideEffects=None,groups=resource.bedplate.dev,resources=resourcegroups,verbs=create,versions=v1alpha1,name=validation.resourcegroup.resource.bedplate.dev,admissionReviewVersions=v1,serviceName=bedplate-hydrazine-webhooks,serviceNamespace=bedplate-hydrazine-system

// SetupWithManager registers the webhooks with the manager's webhook server. The controllers' indexes have to be there.
func SetupWithManager(mgr ctrl.Manager) error {
	return errors.Join(
		ctrl.NewWebhookManagedBy(mgr, &resourcev1.ManagedResource{}).WithValidator(validator{mgr.GetClient()}).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &resourcev1.ResourceGroup{}).WithValidator(groupValidator{}).Complete(),
	)
}

// groupValidator refuses networks that make no sense. They can't be changed later.
type groupValidator struct{}

func (groupValidator) ValidateCreate(_ context.Context, g *resourcev1.ResourceGroup) (admission.Warnings, error) {
	_, err := controller.Topology(g, nil)
	if err == nil {
		return nil, nil
	}
	return nil, apierrors.NewInvalid(resourcev1.GroupVersion.WithKind("ResourceGroup").GroupKind(), g.Name, field.ErrorList{
		field.Invalid(field.NewPath("spec", "network"), g.Spec.Network, err.Error()),
	})
}

func (groupValidator) ValidateUpdate(context.Context, *resourcev1.ResourceGroup, *resourcev1.ResourceGroup) (admission.Warnings, error) {
	return nil, nil
}

func (groupValidator) ValidateDelete(context.Context, *resourcev1.ResourceGroup) (admission.Warnings, error) {
	return nil, nil
}

type validator struct{ client.Reader }

func (v validator) ValidateCreate(ctx context.Context, r *resourcev1.ManagedResource) (admission.Warnings, error) {
	return nil, v.check(ctx, r)
}

// ValidateUpdate lets pass what leaves the spec as it is: an object with a problem can still be changed, and go.
func (v validator) ValidateUpdate(ctx context.Context, before, after *resourcev1.ManagedResource) (admission.Warnings, error) {
	if equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, nil
	}
	return nil, v.check(ctx, after)
}

func (v validator) ValidateDelete(context.Context, *resourcev1.ManagedResource) (admission.Warnings, error) {
	return nil, nil
}

func (v validator) check(ctx context.Context, r *resourcev1.ManagedResource) error {
	group := &resourcev1.ResourceGroup{}
	err := v.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.Spec.ResourceGroup}, group)
	if apierrors.IsNotFound(err) {
		group = nil
	} else if err != nil {
		return fmt.Errorf("get ResourceGroup %s: %w", r.Spec.ResourceGroup, err)
	}
	others, err := controller.Neighbours(ctx, v, r)
	if err != nil {
		return err
	}
	wanted := r.DeepCopy()
	// Whatever it has now, what it asks for it asks for last.
	wanted.CreationTimestamp, wanted.Status = metav1.Time{}, resourcev1.ManagedResourceStatus{}
	problem := membership.Of(wanted, group, others)
	if problem.Reason == membership.ReasonNoGroup { // it goes, or comes later; the host could get back what it has lost then
		problem = membership.Conflict(wanted, others)
	}
	if problem.Reason == "" {
		return nil
	}
	path := field.NewPath("spec", problem.Field)
	return apierrors.NewInvalid(resourcev1.GroupVersion.WithKind("ManagedResource").GroupKind(), r.Name, field.ErrorList{
		{Type: field.ErrorTypeInvalid, Field: path.String(), BadValue: value(r, problem.Field), Detail: problem.Message},
	})
}

func value(r *resourcev1.ManagedResource, name string) any {
	switch name {
	case "hostIP":
		return r.Spec.HostIP
	case "hostMAC":
		return r.Spec.HostMAC
	case "dpuIPs":
		return r.Spec.DPUIPs
	}
	return r.Spec.ResourceGroup
}
