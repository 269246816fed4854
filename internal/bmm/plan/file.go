package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// file is what a plan is made for: its objects as they stand there, and those that the provider reads as the API server
// would have them.
type file struct {
	objects   []*unstructured.Unstructured
	clusters  []*applied[*infrav1.NvidiaBMMCluster]
	templates []*applied[*infrav1.NvidiaBMMMachineTemplate]
	machines  []*applied[*infrav1.NvidiaBMMMachine]
	secrets   map[client.ObjectKey]*corev1.Secret
}

// applied is an object as the API server would have it.
type applied[T client.Object] struct {
	object T
	isNew  bool
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

// read reads the file and asks the API server what it would make of it. All that it wouldn't take is said at once.
func (p *planner) read(ctx context.Context, source io.Reader, namespace string) error {
	objects, err := decode(source)
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	for _, object := range objects {
		if object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
	}
	p.file.objects = objects
	var refusals []error
	for _, object := range objects {
		refusals = append(refusals, p.ask(ctx, object))
	}
	return errors.Join(refusals...)
}

// ask looks after the objects that the provider reads.
func (p *planner) ask(ctx context.Context, object *unstructured.Unstructured) (err error) {
	f := p.file
	switch kind := object.GroupVersionKind(); {
	case kind == corev1.SchemeGroupVersion.WithKind("Secret") && p.holdsCredentials(object):
		f.secrets[client.ObjectKeyFromObject(object)], err = applyOne(ctx, p, object, &corev1.Secret{}, nil)
	case kind.Group != infrav1.GroupVersion.Group:
	case kind.Kind == "NvidiaBMMCluster":
		_, err = applyOne(ctx, p, object, &infrav1.NvidiaBMMCluster{}, &f.clusters)
	case kind.Kind == "NvidiaBMMMachineTemplate":
		_, err = applyOne(ctx, p, object, &infrav1.NvidiaBMMMachineTemplate{}, &f.templates)
	case kind.Kind == "NvidiaBMMMachine":
		_, err = applyOne(ctx, p, object, &infrav1.NvidiaBMMMachine{}, &f.machines)
	}
	return err
}

// holdsCredentials reports whether an NvidiaBMMCluster of the file names the Secret. Others are nobody's business here.
func (p *planner) holdsCredentials(secret *unstructured.Unstructured) bool {
	return slices.ContainsFunc(p.file.objects, func(o *unstructured.Unstructured) bool {
		name, _, _ := unstructured.NestedString(o.Object, "spec", "authentication", "secretRef", "name")
		return o.GetKind() == "NvidiaBMMCluster" && name == secret.GetName() && o.GetNamespace() == secret.GetNamespace()
	})
}

// owner is the Cluster of the file that an NvidiaBMMCluster is the infrastructure of; nil if there is none.
func (f *file) owner(infra *infrav1.NvidiaBMMCluster) (*clusterv1.Cluster, error) {
	for _, o := range f.objects {
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "infrastructureRef", "kind")
		name, _, _ := unstructured.NestedString(o.Object, "spec", "infrastructureRef", "name")
		isCluster := o.GroupVersionKind().GroupKind() == clusterv1.GroupVersion.WithKind("Cluster").GroupKind()
		if !isCluster || kind != "NvidiaBMMCluster" || name != infra.Name || o.GetNamespace() != infra.Namespace {
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
