// Package webhook refuses what the CRDs' own rules can't: what depends on annotations, on the object's name, on flags of the manager
// or on the place in a list, regular expressions and selectors, and changes of templates. It warns of what is ignored.
package webhook

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/validation"
)

// +kubebuilder:webhookconfiguration:mutating=false,name=bedplate-powervs-webhooks
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-ibmpowervscluster,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsclusters,verbs=create;update,versions=v1beta2,name=validation.ibmpowervscluster.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-powervs-webhooks,serviceNamespace=bedplate-powervs-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-ibmpowervsclustertemplate,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsclustertemplates,verbs=create;update,versions=v1beta2,name=validation.ibmpowervsclustertemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-powervs-webhooks,serviceNamespace=bedplate-powervs-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-ibmpowervsmachine,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsmachines,verbs=create,versions=v1beta2,name=validation.ibmpowervsmachine.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-powervs-webhooks,serviceNamespace=bedplate-powervs-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-ibmpowervsmachinetemplate,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsmachinetemplates,verbs=create;update,versions=v1beta2,name=validation.ibmpowervsmachinetemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-powervs-webhooks,serviceNamespace=bedplate-powervs-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-ibmpowervsimage,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsimages,verbs=create,versions=v1beta2,name=validation.ibmpowervsimage.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-powervs-webhooks,serviceNamespace=bedplate-powervs-system

// Features are those that the manager is started with (--feature-gates).
type Features struct {
	// BootstrapFormatIgnition lets machines boot with Ignition.
	BootstrapFormatIgnition bool
}

// SetupWithManager registers the webhooks with the manager's webhook server.
func (f Features) SetupWithManager(mgr ctrl.Manager) error {
	return errors.Join(
		validation.Register(mgr, &infrav1.IBMPowerVSCluster{}, validation.Rules[*infrav1.IBMPowerVSCluster]{
			Created: func(_ context.Context, c *infrav1.IBMPowerVSCluster) field.ErrorList {
				return append(f.clusterProblems(c), nameProblems(c)...)
			},
			Updated: f.newClusterProblems,
			Warned:  clusterWarnings,
		}),
		validation.Register(mgr, &infrav1.IBMPowerVSClusterTemplate{}, validation.Rules[*infrav1.IBMPowerVSClusterTemplate]{
			Created: func(_ context.Context, t *infrav1.IBMPowerVSClusterTemplate) field.ErrorList {
				annotations := field.NewPath("spec", "template", "metadata", "annotations")
				return append(annotationProblems(annotations, t.Spec.Template.ObjectMeta.Annotations),
					f.specProblems(validation.TemplateSpec, &t.Spec.Template.Spec)...)
			},
			Updated: func(ctx context.Context, before, after *infrav1.IBMPowerVSClusterTemplate) (field.ErrorList, error) {
				return validation.Immutable(ctx, after, &before.Spec.Template.Spec, &after.Spec.Template.Spec)
			},
		}),
		validation.Register(mgr, &infrav1.IBMPowerVSMachine{}, validation.Rules[*infrav1.IBMPowerVSMachine]{
			Created: func(_ context.Context, m *infrav1.IBMPowerVSMachine) field.ErrorList {
				return machineProblems(field.NewPath("spec"), &m.Spec)
			},
			Warned: func(m *infrav1.IBMPowerVSMachine) []string {
				return regexIgnored(field.NewPath("spec", "serviceInstance"), m.Spec.ServiceInstance)
			},
		}),
		validation.Register(mgr, &infrav1.IBMPowerVSMachineTemplate{}, validation.Rules[*infrav1.IBMPowerVSMachineTemplate]{
			Created: func(_ context.Context, t *infrav1.IBMPowerVSMachineTemplate) field.ErrorList {
				return machineProblems(validation.TemplateSpec, &t.Spec.Template.Spec)
			},
			Updated: func(ctx context.Context, before, after *infrav1.IBMPowerVSMachineTemplate) (field.ErrorList, error) {
				return validation.Immutable(ctx, after, &before.Spec.Template.Spec, &after.Spec.Template.Spec)
			},
			Warned: func(t *infrav1.IBMPowerVSMachineTemplate) []string {
				return regexIgnored(validation.TemplateSpec.Child("serviceInstance"), t.Spec.Template.Spec.ServiceInstance)
			},
		}),
		validation.Register(mgr, &infrav1.IBMPowerVSImage{}, validation.Rules[*infrav1.IBMPowerVSImage]{
			Warned: func(i *infrav1.IBMPowerVSImage) []string {
				return regexIgnored(field.NewPath("spec", "serviceInstance"), i.Spec.ServiceInstance)
			},
		}),
	)
}
