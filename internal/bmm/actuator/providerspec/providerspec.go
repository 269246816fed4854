// Package providerspec reads the provider spec of an OpenShift Machine. All its validation is here: the webhook calls it
// when a spec is written, the actuator when it is used. The rules are those of the generated CRD, which is never installed,
// and so the same as those of an NvidiaBMMMachine.
package providerspec

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
)

// Path of a provider spec in a Machine.
func Path() *field.Path { return field.NewPath("spec", "providerSpec", "value") }

// IsOurs reports whether a provider spec is of our group, whatever else is wrong with it. A Machine with another one
// belongs to another provider.
func IsOurs(spec machinev1.ProviderSpec) bool {
	var is metav1.TypeMeta
	if spec.Value == nil || json.Unmarshal(spec.Value.Raw, &is) != nil {
		return false
	}
	return is.GroupVersionKind().Group == bmmv1.GroupVersion.Group
}

// Peek reads what can be read of one of our provider specs, without validation.
func Peek(spec machinev1.ProviderSpec) bmmv1.NvidiaBMMMachineProviderSpec {
	var peeked bmmv1.NvidiaBMMMachineProviderSpec
	if IsOurs(spec) {
		_ = json.Unmarshal(spec.Value.Raw, &peeked) // a field of a wrong type is left out, the others are read
	}
	return peeked
}

// Reader reads provider specs. It is safe for concurrent use.
type Reader struct {
	structural *schema.Structural
	fields     validation.SchemaValidator
	rules      *cel.Validator
}

// NewReader compiles the rules.
func NewReader() (*Reader, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(bmmv1.ProviderSpecCRD, &crd); err != nil {
		return nil, fmt.Errorf("read the schema of provider specs: %w", err)
	}
	var internal apiextensions.JSONSchemaProps
	versioned := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(versioned, &internal, nil); err != nil {
		return nil, fmt.Errorf("convert the schema of provider specs: %w", err)
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return nil, fmt.Errorf("compile the schema of provider specs: %w", err)
	}
	fields, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, fmt.Errorf("compile the schema of provider specs: %w", err)
	}
	return &Reader{structural, fields, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// Read a provider spec, with defaults filled in. All problems are found at once; they name the field, and are always in the
// same order, so that a condition that lists them doesn't change.
func (r *Reader) Read(
	ctx context.Context, path *field.Path, spec machinev1.ProviderSpec,
) (*bmmv1.NvidiaBMMMachineProviderSpec, field.ErrorList) {
	read, problems := r.read(ctx, path, spec)
	slices.SortFunc(problems, func(a, b *field.Error) int { return cmp.Compare(a.Error(), b.Error()) })
	return read, problems
}

func (r *Reader) read(
	ctx context.Context, path *field.Path, spec machinev1.ProviderSpec,
) (*bmmv1.NvidiaBMMMachineProviderSpec, field.ErrorList) {
	object, problems := decode(path, spec.Value)
	if len(problems) > 0 {
		return nil, problems
	}
	if problems := kindProblems(path, object); len(problems) > 0 {
		return nil, problems
	}
	problems = r.unknown(path, object)
	defaulting.Default(object, r.structural)
	problems = append(problems, validation.ValidateCustomResource(path, object, r.fields)...)
	problems = append(problems, listtype.ValidateListSetsAndMaps(path, r.structural, object)...)
	if len(problems) == 0 { // the rules rely on correct types
		problems, _ = r.rules.Validate(ctx, path, r.structural, object, nil, celconfig.RuntimeCELCostBudget)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	read := &bmmv1.NvidiaBMMMachineProviderSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, read); err != nil {
		return nil, field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	return read, nil
}

func decode(path *field.Path, value *runtime.RawExtension) (map[string]any, field.ErrorList) {
	if value == nil || len(value.Raw) == 0 {
		return nil, field.ErrorList{field.Required(path, "it says which instance the Machine gets")}
	}
	var object map[string]any
	if err := utiljson.Unmarshal(bytes.TrimSpace(value.Raw), &object); err != nil {
		return nil, field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	return object, nil
}

func kindProblems(path *field.Path, object map[string]any) (problems field.ErrorList) {
	for name, want := range map[string]string{"apiVersion": bmmv1.GroupVersion.String(), "kind": bmmv1.ProviderSpecKind} {
		if object[name] != want {
			problems = append(problems, field.NotSupported(path.Child(name), object[name], []string{want}))
		}
	}
	return problems
}

// unknown fields, which an API server would only warn of: a misspelt one would be missed when the instance is there.
func (r *Reader) unknown(path *field.Path, object map[string]any) (problems field.ErrorList) {
	pruned := runtime.DeepCopyJSON(object)
	for _, name := range pruning.PruneWithOptions(pruned, r.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		problems = append(problems, field.Forbidden(path.Child(name), "there is no such field"))
	}
	return problems
}
