// Package webhook refuses what the CRDs' own rules can't: ranges that overlap, credentials in another namespace, and
// changes of templates.
package webhook

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// +kubebuilder:webhookconfiguration:mutating=false,name=bedplate-bmm-webhooks
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-nvidiabmmcluster,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmclusters,verbs=create;update,versions=v1beta1,name=validation.nvidiabmmcluster.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-bmm-webhooks,serviceNamespace=bedplate-bmm-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-nvidiabmmclustertemplate,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmclustertemplates,verbs=create;update,versions=v1beta1,name=validation.nvidiabmmclustertemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-bmm-webhooks,serviceNamespace=bedplate-bmm-system
// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-nvidiabmmmachinetemplate,mutating=false,failurePolicy=fail,sideEffects=None,groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmmachinetemplates,verbs=update,versions=v1beta1,name=validation.nvidiabmmmachinetemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1,serviceName=bedplate-bmm-webhooks,serviceNamespace=bedplate-bmm-system

// SetupWithManager registers the webhooks with the manager's webhook server.
func SetupWithManager(mgr ctrl.Manager) error {
	return errors.Join(
		register(mgr, &infrav1.NvidiaBMMCluster{}, validator[*infrav1.NvidiaBMMCluster]{
			kind: "NvidiaBMMCluster", created: clusterProblems, updated: newClusterProblems,
		}),
		register(mgr, &infrav1.NvidiaBMMClusterTemplate{}, validator[*infrav1.NvidiaBMMClusterTemplate]{
			kind: "NvidiaBMMClusterTemplate",
			created: func(t *infrav1.NvidiaBMMClusterTemplate) field.ErrorList {
				return rangeProblems(templateSpec, &t.Spec.Template.Spec)
			},
			updated: func(ctx context.Context, before, after *infrav1.NvidiaBMMClusterTemplate) (field.ErrorList, error) {
				return changeProblems(ctx, after, &before.Spec.Template.Spec, &after.Spec.Template.Spec)
			},
		}),
		register(mgr, &infrav1.NvidiaBMMMachineTemplate{}, validator[*infrav1.NvidiaBMMMachineTemplate]{
			kind: "NvidiaBMMMachineTemplate",
			updated: func(ctx context.Context, before, after *infrav1.NvidiaBMMMachineTemplate) (field.ErrorList, error) {
				return changeProblems(ctx, after, &before.Spec.Template.Spec, &after.Spec.Template.Spec)
			},
		}),
	)
}

func register[T client.Object](mgr ctrl.Manager, object T, v validator[T]) error {
	return ctrl.NewWebhookManagedBy(mgr, object).WithValidator(v).Complete()
}

// validator answers as the API server itself does, with all problems at once. Only what the markers above name is asked.
type validator[T client.Object] struct {
	kind    string
	created func(T) field.ErrorList
	updated func(ctx context.Context, before, after T) (field.ErrorList, error)
}

func (v validator[T]) ValidateCreate(_ context.Context, object T) (admission.Warnings, error) {
	if v.created == nil {
		return nil, nil
	}
	return nil, v.refuse(object, v.created(object))
}

func (v validator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	problems, err := v.updated(ctx, before, after)
	if err != nil {
		return nil, err
	}
	return nil, v.refuse(after, problems)
}

func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (v validator[T]) refuse(object T, problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	return apierrors.NewInvalid(infrav1.GroupVersion.WithKind(v.kind).GroupKind(), object.GetName(), problems)
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

// newClusterProblems leaves out those there were before, so that such an object can still be changed, and go.
func newClusterProblems(_ context.Context, before, after *infrav1.NvidiaBMMCluster) (field.ErrorList, error) {
	known := clusterProblems(before)
	return slices.DeleteFunc(clusterProblems(after), func(problem *field.Error) bool {
		return slices.ContainsFunc(known, func(k *field.Error) bool { return k.Error() == problem.Error() })
	}), nil
}
