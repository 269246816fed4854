// Package webhook refuses what only the other objects show to be wrong: an address outside the group's network, or one that
// is in use. Concurrent creates of two objects are both accepted; then the controller refuses the younger one.
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

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// +kubebuilder:webhookconfiguration:mutating=false,name=bedplate-hydrazine-webhooks
// +kubebuilder:webhook:path=/validate-resource-bedplate-dev-v1alpha1-managedresource,mutating=false,failurePolicy=fail,sideEffects=None,groups=resource.bedplate.dev,resources=managedresources,verbs=create;update,versions=v1alpha1,name=validation.managedresource.resource.bedplate.dev,admissionReviewVersions=v1,serviceName=bedplate-hydrazine-webhooks,serviceNamespace=bedplate-hydrazine-system
// +kubebuilder:webhook:path=/validate-resource-bedplate-dev-v1alpha1-resourcegroup,mutating=false,failurePolicy=fail,sideEffects=None,groups=resource.bedplate.dev,resources=resourcegroups,verbs=create;update,versions=v1alpha1,name=validation.resourcegroup.resource.bedplate.dev,admissionReviewVersions=v1,serviceName=bedplate-hydrazine-webhooks,serviceNamespace=bedplate-hydrazine-system

// SetupWithManager registers the webhooks with the manager's webhook server. The controllers' indexes have to be there.
func SetupWithManager(mgr ctrl.Manager) error {
	return errors.Join(
		ctrl.NewWebhookManagedBy(mgr, &resourcev1.ManagedResource{}).WithValidator(validator{mgr.GetClient()}).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &resourcev1.ResourceGroup{}).WithValidator(groupValidator{mgr.GetClient()}).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &networkfabricv1.PublicIP{}).WithValidator(publicIPValidator{mgr.GetClient()}).Complete(),
	)
}

// These are the API's own bounds, which the API server has checked. Other clients of the webhooks may send anything, and each element is
// a search.
const maxDPUIPs, maxSecurityGroupsOfOne, maxSecurityGroupsOfAGroup = 3, 8, 16

type length struct{ is, most int }

// few says that lists of an object aren't longer than they may be.
func few(kind, name string, lists map[string]length) error {
	var all field.ErrorList
	for list, length := range lists {
		if length.is > length.most {
			all = append(all, field.TooMany(field.NewPath("spec", list), length.is, length.most))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return apierrors.NewInvalid(resourcev1.GroupVersion.WithKind(kind).GroupKind(), name, all)
}

type validator struct{ client.Reader }

func (v validator) ValidateCreate(ctx context.Context, r *resourcev1.ManagedResource) (admission.Warnings, error) {
	return v.check(ctx, r)
}

// ValidateUpdate lets pass what leaves the spec as it is: an object with a problem can still be changed, and go.
func (v validator) ValidateUpdate(ctx context.Context, before, after *resourcev1.ManagedResource) (admission.Warnings, error) {
	if equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, nil
	}
	return v.check(ctx, after)
}

func (v validator) ValidateDelete(context.Context, *resourcev1.ManagedResource) (admission.Warnings, error) {
	return nil, nil
}

func (v validator) check(ctx context.Context, r *resourcev1.ManagedResource) (admission.Warnings, error) {
	if err := few("ManagedResource", r.Name, map[string]length{
		"dpuIPs": {len(r.Spec.DPUIPs), maxDPUIPs}, "securityGroups": {len(r.Spec.SecurityGroups), maxSecurityGroupsOfOne},
	}); err != nil {
		return nil, err
	}
	group := &resourcev1.ResourceGroup{}
	err := v.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.Spec.ResourceGroup}, group)
	if apierrors.IsNotFound(err) {
		group = nil
	} else if err != nil {
		return nil, fmt.Errorf("get ResourceGroup %s: %w", r.Spec.ResourceGroup, err)
	}
	problem, err := v.problem(ctx, r, group)
	if err != nil {
		return nil, err
	}
	if problem.Reason == "" {
		return warnings(r, group), nil
	}
	path := field.NewPath("spec", problem.Field)
	return nil, apierrors.NewInvalid(resourcev1.GroupVersion.WithKind("ManagedResource").GroupKind(), r.Name, field.ErrorList{
		{Type: field.ErrorTypeInvalid, Field: path.String(), BadValue: value(r, problem.Field), Detail: problem.Message},
	})
}

func (v validator) problem(
	ctx context.Context, r *resourcev1.ManagedResource, group *resourcev1.ResourceGroup,
) (membership.Problem, error) {
	others, err := controller.Neighbours(ctx, v, r)
	if err != nil {
		return membership.Problem{}, err
	}
	wanted := r.DeepCopy()
	// Whatever it has now, what it asks for it asks for last.
	wanted.CreationTimestamp, wanted.Status = metav1.Time{}, resourcev1.ManagedResourceStatus{}
	problem := membership.Of(wanted, group, others)
	if problem.Reason == membership.ReasonNoGroup { // it is being deleted, or comes later; the host could get back what it has lost then
		problem = membership.Conflict(wanted, others)
	}
	if problem.Reason != "" {
		return problem, nil
	}
	for _, ip := range r.Spec.DPUIPs {
		public, err := controller.PublicIPsWith(ctx, v, ip)
		if err != nil {
			return membership.Problem{}, err
		}
		if len(public) > 0 { // whose is no business of a tenant's
			return membership.Problem{Reason: membership.ReasonAddressTaken, Field: "dpuIPs", Message: fmt.Sprintf(
				"%s is a public address: choose a fabric address", ip)}, nil
		}
	}
	ip, what, err := controller.Reserved(ctx, v, r)
	if err != nil {
		return membership.Problem{}, err
	}
	if what != "" {
		return membership.Problem{Reason: membership.ReasonAddressTaken, Field: "dpuIPs", Message: fmt.Sprintf(
			"%s is %s: choose another fabric address", ip, what)}, nil
	}
	return membership.Problem{}, nil
}

// warnings of security groups that a host is to be in and can't be.
func warnings(r *resourcev1.ManagedResource, group *resourcev1.ResourceGroup) admission.Warnings {
	switch {
	case group == nil || len(r.Spec.SecurityGroups) == 0:
		return nil
	case group.Spec.NetworkImplementationType != resourcev1.SoftwareNetwork:
		return admission.Warnings{fmt.Sprintf("the network fabric carries ResourceGroup %s: securityGroups have no effect", group.Name)}
	}
	network, err := overlay.Topology(group, []resourcev1.ManagedResource{*r}, overlay.Outside{})
	if err != nil {
		return nil // the group says so
	}
	return network.Warnings[string(r.UID)]
}

func value(r *resourcev1.ManagedResource, name string) any {
	switch name {
	case "hostIP":
		return r.Spec.HostIP
	case "secondHostIP":
		return r.Spec.SecondHostIP
	case "hostMAC":
		return r.Spec.HostMAC
	case "dpuIPs":
		return r.Spec.DPUIPs
	}
	return r.Spec.ResourceGroup
}
