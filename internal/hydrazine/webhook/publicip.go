package webhook

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/controller"
)

// +kubebuilder:webhook:path=/validate-networkfabric-bedplate-dev-v1alpha1-publicip,mutating=false,failurePolicy=fail,sideEffects=None,groups=networkfabric.bedplate.dev,resources=publicips,verbs=create,versions=v1alpha1,name=validation.publicip.networkfabric.bedplate.dev,admissionReviewVersions=v1,serviceName=bedplate-hydrazine-webhooks,serviceNamespace=bedplate-hydrazine-system

// publicIPValidator refuses an address that is already in use. It can't be changed later.
type publicIPValidator struct{ client.Reader }

func (v publicIPValidator) ValidateCreate(ctx context.Context, ip *networkfabricv1.PublicIP) (admission.Warnings, error) {
	taken := func(format string, args ...any) error {
		return apierrors.NewInvalid(networkfabricv1.GroupVersion.WithKind("PublicIP").GroupKind(), ip.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "ipAddress"), ip.Spec.IPAddress, fmt.Sprintf(format, args...)),
		})
	}
	others, err := controller.PublicIPsWith(ctx, v, ip.Spec.IPAddress)
	if err != nil {
		return nil, err
	}
	for i := range others {
		if others[i].Name != ip.Name { // otherwise the API server says that it exists
			return nil, taken("PublicIP %s has the address: choose another one, or delete that", others[i].Name)
		}
	}
	hosts, err := controller.WithFabricIP(ctx, v, ip.Spec.IPAddress)
	if err != nil {
		return nil, err
	}
	if len(hosts) > 0 {
		return nil, taken("ManagedResource %s/%s has the address among its dpuIPs: choose another one, or delete that",
			hosts[0].Namespace, hosts[0].Name)
	}
	return nil, nil
}

func (publicIPValidator) ValidateUpdate(context.Context, *networkfabricv1.PublicIP, *networkfabricv1.PublicIP) (admission.Warnings, error) {
	return nil, nil
}

func (publicIPValidator) ValidateDelete(context.Context, *networkfabricv1.PublicIP) (admission.Warnings, error) {
	return nil, nil
}
