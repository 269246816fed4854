package plan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// file is the input of a plan: its objects as written, and those that the provider reads as the API server would store
// them.
type file struct {
	objects []*unstructured.Unstructured
	// applied are those of the system's kinds, by kind.
	applied map[string][]applied
	secrets map[client.ObjectKey]*corev1.Secret
}

// applied is an object as the API server would store it.
type applied struct {
	client.Object
	isNew bool
}

// Has reports whether a file has a cluster of a system. One that can't be read has none.
func Has(source []byte, system System) bool {
	objects, err := decode(bytes.NewReader(source)) // File says what is wrong with it
	return err == nil && slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == system.Cluster && o.GroupVersionKind().Group == system.Version.Group
	})
}

// decode reads the objects of a file, Lists taken apart.
func decode(source io.Reader) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(source, 4096)
	for document := 1; ; document++ {
		var raw runtime.RawExtension
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		var found []*unstructured.Unstructured
		if err == nil {
			found, err = objectsIn(raw.Raw)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", document, err)
		}
		objects = append(objects, found...)
	}
}

// objectsIn are none for a document of comments, and the items of a List.
func objectsIn(document []byte) ([]*unstructured.Unstructured, error) {
	if len(document) == 0 || string(document) == "null" {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(document); err != nil {
		return nil, err
	}
	objects := []*unstructured.Unstructured{object}
	if object.IsList() {
		list, err := object.ToList()
		if err != nil {
			return nil, err
		}
		objects = nil
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
	for _, o := range objects {
		if o.GetName() == "" {
			return nil, fmt.Errorf("%s has no metadata.name", o.GetKind())
		}
	}
	return objects, nil
}

// read reads the file and sends it to the API server as a dry run. All refusals are reported at once.
func (p *planner) read(ctx context.Context, source []byte, namespace string) error {
	objects, err := decode(bytes.NewReader(source))
	p.file.objects = objects
	if variables := p.variables(); len(variables) > 0 || err != nil && variable.Match(source) {
		return fmt.Errorf("the file is a template, with variables such as %s: run \"clusterctl generate yaml --from FILE\" first, "+
			"and plan what it prints", cmp.Or(strings.Join(variables, ", "), string(variable.Find(source))))
	}
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	for _, object := range objects {
		if object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
	}
	if err := eachOnce(objects); err != nil {
		return err
	}
	var refusals []error
	for _, object := range objects {
		refusals = append(refusals, p.ask(ctx, object))
	}
	return errors.Join(refusals...)
}

// variable is what clusterctl replaces in a template. In scripts there are others like it.
var variable = regexp.MustCompile(`\$\{[A-Z][A-Z0-9_]*(:?[=-][^}]*)?\}`)

// variables returns those that are left outside of scripts: in names, and in what Bedplate reads.
func (p *planner) variables() (all []string) {
	for _, o := range p.file.objects {
		read := any([]string{o.GetName(), o.GetNamespace()})
		if o.GroupVersionKind().Group == p.system.Version.Group || o.GetKind() == "Secret" && p.holdsCredentials(o) {
			read = o.DeepCopy().Object
			if o.GetKind() == p.system.Cluster && len(p.system.Script) > 0 {
				unstructured.RemoveNestedField(read.(map[string]any), p.system.Script...)
			}
		}
		text, err := json.Marshal(read)
		if err != nil {
			continue // it was decoded from JSON
		}
		all = append(all, variable.FindAllString(string(text), -1)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// eachOnce refuses a file that has an object twice: the second would undo the first.
func eachOnce(objects []*unstructured.Unstructured) error {
	type key struct {
		kind schema.GroupKind
		name client.ObjectKey
	}
	seen := map[key]bool{}
	for _, o := range objects {
		k := key{o.GroupVersionKind().GroupKind(), client.ObjectKeyFromObject(o)}
		if seen[k] {
			return fmt.Errorf("%s %s is in the file twice", o.GetKind(), k.name)
		}
		seen[k] = true
	}
	return nil
}

// ask handles the objects that the provider reads.
func (p *planner) ask(ctx context.Context, object *unstructured.Unstructured) error {
	f := p.file
	switch kind := object.GroupVersionKind(); {
	case kind == corev1.SchemeGroupVersion.WithKind("Secret") && p.holdsCredentials(object):
		secret := &corev1.Secret{}
		f.secrets[client.ObjectKeyFromObject(object)] = secret
		_, err := p.apply(ctx, object, secret)
		return err
	case kind.Group == p.system.Version.Group && slices.Contains(p.system.kinds(), kind.Kind):
		typed, err := p.empty(kind.Kind)
		if err != nil {
			return err
		}
		isNew, err := p.apply(ctx, object, typed)
		f.applied[kind.Kind] = append(f.applied[kind.Kind], applied{typed, isNew})
		return err
	}
	return nil
}

// empty is an empty object of one of the system's kinds.
func (p *planner) empty(kind string) (client.Object, error) {
	object, err := p.Scheme().New(p.system.Version.WithKind(kind))
	if err != nil {
		return nil, err
	}
	return object.(client.Object), nil
}

// find is an object of the file, as the API server would store it; nil if there is none.
func (f *file) find(kind, namespace, name string) client.Object {
	for _, a := range f.applied[kind] {
		if a.GetName() == name && a.GetNamespace() == namespace {
			return a.Object
		}
	}
	return nil
}

// holdsCredentials reports whether a cluster of the file names the Secret, or may do so. Others don't matter here.
func (p *planner) holdsCredentials(secret *unstructured.Unstructured) bool {
	return len(p.system.Secret) == 0 || slices.ContainsFunc(p.file.objects, func(o *unstructured.Unstructured) bool {
		name, _, _ := unstructured.NestedString(o.Object, p.system.Secret...)
		return o.GetKind() == p.system.Cluster && name == secret.GetName() && o.GetNamespace() == secret.GetNamespace()
	})
}

// ownerOf is the Cluster of the file that an object of a kind is the infrastructure of; nil if there is none.
func (f *file) ownerOf(infraKind string, infra client.Object) (*clusterv1.Cluster, error) {
	for _, o := range f.objects {
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "infrastructureRef", "kind")
		name, _, _ := unstructured.NestedString(o.Object, "spec", "infrastructureRef", "name")
		isCluster := o.GroupVersionKind().GroupKind() == clusterv1.GroupVersion.WithKind("Cluster").GroupKind()
		if !isCluster || kind != infraKind || name != infra.GetName() || o.GetNamespace() != infra.GetNamespace() {
			continue
		}
		owner := &clusterv1.Cluster{} // Older versions have the fields that are needed here, too.
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, owner); err != nil {
			return nil, fmt.Errorf("read Cluster %s of the file: %w", o.GetName(), err)
		}
		return owner, nil
	}
	return nil, nil
}
