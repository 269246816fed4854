package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// groupValidator refuses networks that make no sense, which can't be changed later, and warns of rules that name nobody.
type groupValidator struct{}

func (groupValidator) ValidateCreate(_ context.Context, g *resourcev1.ResourceGroup) (admission.Warnings, error) {
	network, err := overlay.Topology(g, nil, overlay.Outside{})
	if err != nil {
		return nil, apierrors.NewInvalid(resourcev1.GroupVersion.WithKind("ResourceGroup").GroupKind(), g.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "network"), g.Spec.Network, err.Error()),
		})
	}
	return network.Warnings[string(g.UID)], nil
}

// ValidateUpdate refuses nothing: an object with a problem can still be changed, and go.
func (v groupValidator) ValidateUpdate(ctx context.Context, before, after *resourcev1.ResourceGroup) (admission.Warnings, error) {
	if equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, nil
	}
	warnings, refused := v.ValidateCreate(ctx, after)
	if refused != nil {
		warnings = admission.Warnings{refused.Error()}
	}
	return warnings, nil
}

func (groupValidator) ValidateDelete(context.Context, *resourcev1.ResourceGroup) (admission.Warnings, error) {
	return nil, nil
}
