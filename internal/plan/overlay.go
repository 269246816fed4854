package plan

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// overlay reads the Secrets and the inputs of a file as they would be.
type overlay struct {
	client.Client
	*planner
}

// Get reads an object.
func (o overlay) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if secret, ok := object.(*corev1.Secret); ok && o.file.secrets[key] != nil {
		o.file.secrets[key].DeepCopyInto(secret)
		return nil
	}
	for _, a := range o.inputs(object) {
		if client.ObjectKeyFromObject(a) == key {
			reflect.ValueOf(object).Elem().Set(reflect.ValueOf(a.DeepCopyObject()).Elem()) // as caches do
			return nil
		}
	}
	return o.Client.Get(ctx, key, object, options...)
}

// List reads the objects of a kind, which isn't limited by labels where it is one of the inputs.
func (o overlay) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := o.Client.List(ctx, list, options...); err != nil {
		return err
	}
	within := (&client.ListOptions{}).ApplyOptions(options).Namespace
	all, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	for _, a := range o.inputs(list) {
		if within != "" && a.GetNamespace() != within {
			continue
		}
		all = append(slices.DeleteFunc(all, func(live runtime.Object) bool {
			return client.ObjectKeyFromObject(live.(client.Object)) == client.ObjectKeyFromObject(a)
		}), a.DeepCopyObject())
	}
	return meta.SetList(list, all)
}

// inputs of the file that are of the kind of an object or of a list.
func (o overlay) inputs(of runtime.Object) []applied {
	kind, err := apiutil.GVKForObject(of, o.Scheme())
	name := strings.TrimSuffix(kind.Kind, "List")
	if err != nil || kind.Group != o.system.Version.Group || !slices.Contains(o.system.Inputs, name) {
		return nil
	}
	return o.file.applied[name]
}
