package validation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/topology"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// TemplateSpec is the path of what Cluster API makes an object from a template with.
var TemplateSpec = field.NewPath("spec", "template", "spec")

// Immutable returns the fields of a template's spec that an update changes. What was created from a template isn't changed with it, so a
// changed template would be wrong about that. Cluster API's topology controller asks in a dry run what a change would be, which is
// allowed: it then makes another template itself.
func Immutable(ctx context.Context, template client.Object, before, after any) (field.ErrorList, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, err
	}
	if topology.IsDryRunRequest(request, template) {
		return nil, nil
	}
	old, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		return nil, fmt.Errorf("read the template as it was: %w", err)
	}
	wanted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	names := slices.Collect(maps.Keys(wanted))
	for name := range old {
		if _, stays := wanted[name]; !stays {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var problems field.ErrorList
	for _, name := range names {
		if !equality.Semantic.DeepEqual(old[name], wanted[name]) {
			problems = append(problems, field.Invalid(TemplateSpec.Child(name), wanted[name],
				"a template can't be changed: write another one, with another name, and refer to that one"))
		}
	}
	return problems, nil
}
