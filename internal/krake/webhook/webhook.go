// Package webhook refuses Clusters whose constraints or templates can't be read, and providers that would leave behind what they have
// made, which the CRDs' own rules can't say, and warns of what has no effect.
package webhook

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/constraints"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/validation"
)

// +kubebuilder:webhookconfiguration:mutating=false,name=bedplate-krake-webhooks
// +kubebuilder:webhook:path=/validate-krake-bedplate-dev-v1alpha1-cluster,mutating=false,failurePolicy=fail,sideEffects=None,groups=krake.bedplate.dev,resources=clusters,verbs=create;update,versions=v1alpha1,name=validation.cluster.krake.bedplate.dev,admissionReviewVersions=v1,serviceName=bedplate-krake-webhooks,serviceNamespace=bedplate-krake-system

// Options are those that the manager is started with.
type Options struct {
	// Imports are what templates may import (--tosca-imports).
	Imports tosca.Imports
}

// SetupWithManager registers the webhooks with the manager's webhook server.
func (o Options) SetupWithManager(mgr ctrl.Manager) error {
	return errors.Join(setupProviders(mgr), validation.Register(mgr, &krakev1.Cluster{}, validation.Rules[*krakev1.Cluster]{
		Created: func(_ context.Context, c *krakev1.Cluster) field.ErrorList { return o.problems(c) },
		Updated: o.Updated,
		Warned:  ignored,
		Changed: kept,
	}))
}

// Updated are the problems that a Cluster didn't have before a change.
func (o Options) Updated(_ context.Context, before, after *krakev1.Cluster) (field.ErrorList, error) {
	return validation.New(o.problems(before), o.problems(after)), nil
}

var spec = field.NewPath("spec")

func (o Options) problems(c *krakev1.Cluster) (problems field.ErrorList) {
	if c.Spec.TOSCA != "" {
		problems = o.templateProblems(c.Spec.TOSCA)
	}
	if c.Spec.Constraints == nil || c.Spec.Constraints.Cloud == nil {
		return problems
	}
	path, cloud := spec.Child("constraints", "cloud"), c.Spec.Constraints.Cloud
	for i, text := range cloud.Labels {
		if _, err := constraints.ParseLabel(text); err != nil {
			problems = append(problems, field.Invalid(path.Child("labels").Index(i), text, err.Error()))
		}
	}
	for i, text := range cloud.Metrics {
		if _, err := constraints.ParseMetric(text); err != nil {
			problems = append(problems, field.Invalid(path.Child("metrics").Index(i), text, err.Error()))
		}
	}
	return problems
}

// templateProblems don't repeat the template, which is long and may contain secrets.
func (o Options) templateProblems(text string) (problems field.ErrorList) {
	say := func(problem string) {
		problems = append(problems, field.Invalid(spec.Child("tosca"), field.OmitValueType{}, problem))
	}
	template, err := tosca.Parse(text)
	if err != nil {
		say(err.Error())
		return problems
	}
	for _, problem := range o.Imports.Problems(template) {
		say(problem)
	}
	return problems
}

// ignored is what has no effect.
func ignored(c *krakev1.Cluster) []string {
	if c.Spec.TOSCA == "" || c.Spec.Kubeconfig == nil || c.Status.ScheduledTo != nil {
		return nil
	}
	return []string{fmt.Sprintf("%s is ignored: the cluster has a kubeconfig already, so that it is only observed. To have it made, remove %s",
		spec.Child("tosca"), spec.Child("kubeconfig"))}
}

// kept is what stays although it is removed.
func kept(before, after *krakev1.Cluster) (warnings []string) {
	if before.Spec.TOSCA == after.Spec.TOSCA {
		return nil
	}
	old, err := tosca.Parse(before.Spec.TOSCA)
	if err != nil {
		return nil
	}
	wanted, err := tosca.Parse(after.Spec.TOSCA)
	if err != nil {
		return nil // it is refused
	}
	for _, name := range tosca.Removed(old, wanted) {
		warnings = append(warnings, fmt.Sprintf("%s: node template %q stays, because the infrastructure manager ignores that it is removed. "+
			"To be rid of its machines, put it back with count 0 of its capability scalable", spec.Child("tosca"), name))
	}
	return warnings
}
