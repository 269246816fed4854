package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/validation"
)

// +kubebuilder:webhook:path=/validate-krake-bedplate-dev-v1alpha1-infrastructureprovider,mutating=false,failurePolicy=fail,sideEffects=None,groups=krake.bedplate.dev,resources=infrastructureproviders,verbs=update,versions=v1alpha1,name=validation.infrastructureprovider.krake.bedplate.dev,admissionReviewVersions=v1,serviceName=bedplate-krake-webhooks,serviceNamespace=bedplate-krake-system
// +kubebuilder:webhook:path=/validate-krake-bedplate-dev-v1alpha1-globalinfrastructureprovider,mutating=false,failurePolicy=fail,sideEffects=None,groups=krake.bedplate.dev,resources=globalinfrastructureproviders,verbs=update,versions=v1alpha1,name=validation.globalinfrastructureprovider.krake.bedplate.dev,admissionReviewVersions=v1,serviceName=bedplate-krake-webhooks,serviceNamespace=bedplate-krake-system

// setupProviders registers the webhooks of providers.
func setupProviders(mgr ctrl.Manager) error {
	p := providers{mgr.GetAPIReader()}
	return errors.Join(
		validation.Register(mgr, &krakev1.InfrastructureProvider{}, validation.Rules[*krakev1.InfrastructureProvider]{
			Updated: func(ctx context.Context, before, after *krakev1.InfrastructureProvider) (field.ErrorList, error) {
				return p.updated(ctx, after, before.Spec.IM.URL, after.Spec.IM.URL)
			},
		}),
		validation.Register(mgr, &krakev1.GlobalInfrastructureProvider{}, validation.Rules[*krakev1.GlobalInfrastructureProvider]{
			Updated: func(ctx context.Context, before, after *krakev1.GlobalInfrastructureProvider) (field.ErrorList, error) {
				return p.updated(ctx, after, before.Spec.IM.URL, after.Spec.IM.URL)
			},
		}),
	)
}

// providers that have made something stay where they are: at another URL is another account, which has none of it.
type providers struct{ client.Reader }

func (p providers) updated(ctx context.Context, provider client.Object, before, after string) (field.ErrorList, error) {
	if before == after {
		return nil, nil
	}
	clouds, err := p.cloudsOf(ctx, provider)
	if err != nil || len(clouds) == 0 {
		return nil, err
	}
	return field.ErrorList{field.Forbidden(spec.Child("im", "url"), fmt.Sprintf(
		"Clusters are made by it on %s, and at another URL nothing of them is known: write another one", strings.Join(clouds, ", ")))}, nil
}

// cloudsOf a provider that Clusters are on.
func (p providers) cloudsOf(ctx context.Context, provider client.Object) (names []string, _ error) {
	var own krakev1.CloudList
	var global krakev1.GlobalCloudList
	if err := errors.Join(p.List(ctx, &own, client.InNamespace(provider.GetNamespace())), p.List(ctx, &global)); err != nil {
		return nil, fmt.Errorf("list the clouds: %w", err)
	}
	wanted := krakev1.ProviderReference{Name: provider.GetName(), Namespaced: provider.GetNamespace() != ""}
	note := func(cloud krakev1.AnyCloud) {
		if cloud.Known().Clusters > 0 && cloud.Described().Use().InfrastructureProvider == wanted {
			names = append(names, cloud.Reference().Kind+" "+strings.TrimPrefix(client.ObjectKeyFromObject(cloud).String(), "/"))
		}
	}
	for i := range own.Items {
		note(&own.Items[i])
	}
	for i := range global.Items {
		note(&global.Items[i])
	}
	return names, nil
}
