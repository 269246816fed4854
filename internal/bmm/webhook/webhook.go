// Package webhook refuses what the CRDs' own rules can't: ranges that overlap, credentials in another namespace, and
// changes of templates.
package webhook

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/validation"
)

// +kubebuilder:webhookconfiguration:mutating=false,name=bedplate-bmm-webhooks
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-nvidiabmmcluster,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmclusters,verbs=create;update,versions=v1beta1,name=validation.nvidiabmmcluster.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-bmm-webhooks,serviceNamespace=bedplate-bmm-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-nvidiabmmclustertemplate,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmclustertemplates,verbs=create;update,versions=v1beta1,name=validation.nvidiabmmclustertemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-bmm-webhooks,serviceNamespace=bedplate-bmm-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-nvidiabmmmachinetemplate,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmmachinetemplates,verbs=update,versions=v1beta1,name=validation.nvidiabmmmachinetemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-bmm-webhooks,serviceNamespace=bedplate-bmm-system

// SetupWithManager registers the webhooks with the manager's webhook server.
func SetupWithManager(mgr ctrl.Manager) error {
	return errors.Join(
		validation.Register(mgr, &infrav1.NvidiaBMMCluster{}, validation.Rules[*infrav1.NvidiaBMMCluster]{
			Created: func(_ context.Context, c *infrav1.NvidiaBMMCluster) field.ErrorList { return clusterProblems(c) },
			Updated: newClusterProblems,
		}),
		validation.Register(mgr, &infrav1.NvidiaBMMClusterTemplate{}, validation.Rules[*infrav1.NvidiaBMMClusterTemplate]{
			Created: func(_ context.Context, t *infrav1.NvidiaBMMClusterTemplate) field.ErrorList {
				return rangeProblems(validation.TemplateSpec, &t.Spec.Template.Spec)
			},
			Updated: func(ctx context.Context, before, after *infrav1.NvidiaBMMClusterTemplate) (field.ErrorList, error) {
				return validation.Immutable(ctx, after, &before.Spec.Template.Spec, &after.Spec.Template.Spec)
			},
		}),
		validation.Register(mgr, &infrav1.NvidiaBMMMachineTemplate{}, validation.Rules[*infrav1.NvidiaBMMMachineTemplate]{
			Updated: func(ctx context.Context, before, after *infrav1.NvidiaBMMMachineTemplate) (field.ErrorList, error) {
				return validation.Immutable(ctx, after, &before.Spec.Template.Spec, &after.Spec.Template.Spec)
			},
		}),
	)
}

func clusterProblems(c *infrav1.NvidiaBMMCluster) field.ErrorList {
	path := field.NewPath("spec")
	problems := rangeProblems(path, &c.Spec)
	if secret := c.Spec.Authentication.SecretRef; secret.Namespace != "" && secret.Namespace != c.Namespace {
		problems = append(problems, field.Invalid(path.Child("authentication", "secretRef", "namespace"), secret.Namespace,
			"Secrets of other namespaces are not used: put the Secret into namespace "+c.Namespace+" and remove this field"))
	}
	return problems
}

func newClusterProblems(_ context.Context, before, after *infrav1.NvidiaBMMCluster) (field.ErrorList, error) {
	return validation.New(clusterProblems(before), clusterProblems(after)), nil
}
