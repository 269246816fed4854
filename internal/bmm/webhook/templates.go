package webhook

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

var templateSpec = field.NewPath("spec", "template", "spec")

// changeProblems are the fields of a template that an update changes. What was created from a template is never changed
// with it, so a changed template would be wrong about it. Cluster API's topology controller may ask, in a dry run, what a
// change would be: it then makes another template itself.
func changeProblems(ctx context.Context, template client.Object, before, after any) (field.ErrorList, error) {
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
			problems = append(problems, field.Invalid(templateSpec.Child(name), wanted[name],
				"a template can't be changed: write another one, with another name, and refer to that one"))
		}
	}
	return problems, nil
}
