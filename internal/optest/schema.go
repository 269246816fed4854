package optest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

type schema = apiextensionsv1.JSONSchemaProps

// specSchema reads from the API server what it checks the spec of an object against.
func specSchema(ctx context.Context, c client.Client, object client.Object) (*schema, error) {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("find the kind of the object: %w", err)
	}
	mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of %s: %w", kind.Kind, err)
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := c.Get(ctx, client.ObjectKey{Name: mapping.Resource.GroupResource().String()}, found); err != nil {
		return nil, fmt.Errorf("read the definition of %s: %w", kind.Kind, err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, definition); err != nil {
		return nil, fmt.Errorf("read the definition of %s: %w", kind.Kind, err)
	}
	for _, version := range definition.Spec.Versions {
		if version.Name != kind.Version || version.Schema == nil {
			continue
		}
		if spec, ok := version.Schema.OpenAPIV3Schema.Properties["spec"]; ok {
			return &spec, nil
		}
	}
	return nil, fmt.Errorf("the definition of %s has no spec", kind.Kind)
}

// with is a schema with another one in place of that of a field.
func with(s schema, field []string, part *schema) schema {
	if len(field) == 0 {
		return *part
	}
	s.Properties = maps.Clone(s.Properties)
	s.Properties[field[0]] = with(s.Properties[field[0]], field[1:], part)
	return s
}

// place is a field, an element of a list, or a key of a map, that a spec has or may have.
type place struct {
	// path has names of fields, keys of maps, and indexes of lists.
	path     []any
	schema   *schema
	present  bool
	required bool
}

// field is the place without its indexes and keys: "subnets[].cidr", "labels.*".
func (p place) field() string {
	var text strings.Builder
	for i, step := range p.path {
		switch name := step.(type) {
		case int:
			text.WriteString("[]")
		case key:
			text.WriteString(".*")
		case string:
			if i > 0 {
				text.WriteString(".")
			}
			text.WriteString(name)
		}
	}
	return text.String()
}

// String is the place with its indexes and keys.
func (p place) String() string {
	var text strings.Builder
	for i, step := range p.path {
		if index, ok := step.(int); ok {
			fmt.Fprintf(&text, "[%d]", index)
			continue
		}
		if i > 0 {
			text.WriteString(".")
		}
		fmt.Fprint(&text, step)
	}
	return text.String()
}

// key of a map, in contrast to the name of a field.
type key string

// newKey is one that no map has yet.
const newKey key = "operations"

// places of a value, in an order that is always the same.
func places(s *schema, value any, path []any) (all []place) {
	under := func(step any, of *schema, value any, present, required bool) {
		here := append(slices.Clone(path), step)
		all = append(all, place{path: here, schema: of, present: present, required: required})
		if present {
			all = append(all, places(of, value, here)...)
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			of := s.Properties[name]
			_, present := value[name]
			under(name, &of, value[name], present, slices.Contains(s.Required, name))
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			for _, name := range slices.Sorted(maps.Keys(value)) {
				under(key(name), s.AdditionalProperties.Schema, value[name], true, false)
			}
			if _, taken := value[string(newKey)]; !taken {
				under(newKey, s.AdditionalProperties.Schema, nil, false, false)
			}
		}
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			break
		}
		for i := range value {
			under(i, s.Items.Schema, value[i], true, false)
		}
		under(len(value), s.Items.Schema, nil, false, false)
	}
	return all
}

// put a value at a path of a spec; without a value what is there is taken out.
func put(in any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}
	switch step := path[0].(type) {
	case int:
		list, _ := in.([]any)
		list = slices.Clone(list)
		switch {
		case step == len(list):
			return append(list, put(nil, path[1:], value))
		case len(path) == 1 && value == nil:
			return slices.Delete(list, step, step+1)
		}
		list[step] = put(list[step], path[1:], value)
		return list
	default:
		fields, _ := in.(map[string]any)
		fields = maps.Clone(fields)
		if fields == nil {
			fields = map[string]any{}
		}
		name := fmt.Sprint(step)
		if len(path) == 1 && value == nil {
			delete(fields, name)
		} else {
			fields[name] = put(fields[name], path[1:], value)
		}
		return fields
	}
}

// at is the value at a path of a spec.
func at(in any, path []any) any {
	for _, step := range path {
		switch step := step.(type) {
		case int:
			list, _ := in.([]any)
			if step >= len(list) {
				return nil
			}
			in = list[step]
		default:
			fields, _ := in.(map[string]any)
			in = fields[fmt.Sprint(step)]
		}
	}
	return in
}
