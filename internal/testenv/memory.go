package testenv

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// Memory is an API server in memory, for tests that need one each, and hundreds: controller-runtime's fake client, which knows resource
// versions, finalizers and the status, with the UIDs, generations and defaults of a real one. It validates nothing.
// TestMemory_doesAsTheAPIServer compares the two. It knows the kinds of bmm, or those of another system.
func Memory(t testing.TB, system ...func(*apiruntime.Scheme) error) client.WithWatch {
	t.Helper()
	kinds, err := customKinds(toolstest.Find(t, "manifests/core.yaml"))
	if err != nil {
		t.Fatalf("read the CRDs: %v", err)
	}
	scheme, err := memoryScheme(system)
	if err != nil {
		t.Fatalf("build the scheme: %v", err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(uuid.NewString())}})
	for kind, of := range kinds {
		if object, err := scheme.New(kind); err == nil && of.status {
			builder.WithStatusSubresource(object.(client.Object))
		}
	}
	m := memory{kinds}
	return interceptor.NewClient(builder.Build(), interceptor.Funcs{Create: m.create, Update: m.update, Patch: m.patch, Delete: m.delete})
}

// memoryScheme is small, since a fake client goes through all of it in each write, and of one client, since it adds unknown kinds.
func memoryScheme(system apiruntime.SchemeBuilder) (*apiruntime.Scheme, error) {
	if len(system) == 0 {
		system.Register(bmmv1.AddToScheme, ledgerv1.AddToScheme(ledgerv1.GroupBMM))
	}
	scheme := apiruntime.NewScheme()
	builder := append(apiruntime.SchemeBuilder{corev1.AddToScheme, clusterv1.AddToScheme}, system...)
	return scheme, builder.AddToScheme(scheme)
}

// memory does what a fake client leaves out.
type memory struct {
	kinds map[schema.GroupVersionKind]customKind
}

func (m memory) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	of, custom := m.kindOf(c, o)
	if custom {
		if err := of.setDefaults(o); err != nil {
			return err
		}
		o.SetGeneration(1)
	}
	o.SetUID(types.UID(uuid.NewString()))
	o.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	return c.Create(ctx, o, opts...)
}

func (m memory) update(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
	of, custom := m.kindOf(c, o)
	before, missing := stored(ctx, c, o)
	if !custom || missing {
		return c.Update(ctx, o, opts...)
	}
	if err := of.setDefaults(o); err != nil {
		return err
	}
	o.SetGeneration(before.GetGeneration())
	switch {
	case !sameSpec(before, o):
		o.SetGeneration(before.GetGeneration() + 1)
	case o.GetResourceVersion() == before.GetResourceVersion() && same(before, o, !of.status): // nothing is written
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(before).Elem())
		return nil
	}
	return c.Update(ctx, o, opts...)
}

// patch is an update of what it results in.
func (m memory) patch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	_, custom := m.kindOf(c, o)
	before, missing := stored(ctx, c, o)
	if err := c.Patch(ctx, o, p, opts...); err != nil || missing || !custom || sameSpec(before, o) {
		return err
	}
	o.SetGeneration(before.GetGeneration() + 1)
	return c.Update(ctx, o)
}

func (m memory) delete(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
	before, missing := stored(ctx, c, o)
	if given := (&client.DeleteOptions{}).ApplyOptions(opts).Preconditions; !missing && given != nil {
		is := given.UID == nil || *given.UID == before.GetUID()
		if !is || given.ResourceVersion != nil && *given.ResourceVersion != before.GetResourceVersion() {
			return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("the precondition doesn't hold"))
		}
	}
	if !missing && before.GetDeletionTimestamp() != nil {
		return nil
	}
	if err := c.Delete(ctx, o, opts...); err != nil {
		return err
	}
	after, gone := stored(ctx, c, o)
	if _, custom := m.kindOf(c, o); gone || !custom {
		return nil
	}
	after.SetGeneration(after.GetGeneration() + 1)
	return c.Update(ctx, after)
}

// stored is an object as it is now.
func stored(ctx context.Context, c client.Client, o client.Object) (_ client.Object, missing bool) {
	now := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	if partial, is := o.(*metav1.PartialObjectMetadata); is {
		now.(*metav1.PartialObjectMetadata).SetGroupVersionKind(partial.GroupVersionKind())
	}
	return now, c.Get(ctx, client.ObjectKeyFromObject(o), now) != nil
}

func (m memory) kindOf(c client.Client, o client.Object) (of customKind, custom bool) {
	if _, partial := o.(*metav1.PartialObjectMetadata); partial {
		return customKind{}, false
	}
	kind, err := apiutil.GVKForObject(o, c.Scheme())
	of, custom = m.kinds[kind]
	return of, custom && err == nil
}

// sameSpec compares all but metadata and status.
func sameSpec(a, b client.Object) bool {
	return reflect.DeepEqual(without(a, "metadata", "status"), without(b, "metadata", "status"))
}

func same(a, b client.Object, withStatus bool) bool {
	if withStatus {
		return reflect.DeepEqual(without(a), without(b))
	}
	return reflect.DeepEqual(without(a, "status"), without(b, "status"))
}

func without(o client.Object, names ...string) map[string]any {
	fields, err := apiruntime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err) // no object of a scheme
	}
	for _, name := range append(names, "kind", "apiVersion") {
		delete(fields, name)
	}
	return fields
}

// customKind is what a CRD says of one of its versions.
type customKind struct {
	status bool
	schema *structural.Structural
}

func (k customKind) setDefaults(o client.Object) error {
	fields, err := apiruntime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	defaulting.Default(fields, k.schema)
	return apiruntime.DefaultUnstructuredConverter.FromUnstructured(fields, o)
}

var read struct {
	once  sync.Once
	kinds map[schema.GroupVersionKind]customKind
	err   error
}

func customKinds(bin tools.Dir) (map[schema.GroupVersionKind]customKind, error) {
	read.once.Do(func() {
		read.kinds = map[schema.GroupVersionKind]customKind{}
		all, err := crds(bin)
		for _, crd := range all {
			err = errors.Join(err, addKinds(crd, read.kinds))
		}
		read.err = err
	})
	return read.kinds, read.err
}

func addKinds(crd *apiextensionsv1.CustomResourceDefinition, kinds map[schema.GroupVersionKind]customKind) error {
	for _, v := range crd.Spec.Versions {
		props := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil); err != nil {
			return err
		}
		s, err := structural.NewStructural(props)
		if err != nil {
			return err
		}
		kinds[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}] = customKind{
			status: v.Subresources != nil && v.Subresources.Status != nil, schema: s,
		}
	}
	return nil
}
