package dpuset

import (
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

// fill an object with what is wanted: the spec and the labels as a whole, annotations one by one, since others write some. Nothing is
// shared.
func fill(o, want client.Object) {
	o.SetLabels(maps.Clone(want.GetLabels()))
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil && len(want.GetAnnotations()) > 0 {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, want.GetAnnotations())
	o.SetAnnotations(annotations)
	switch o := o.(type) {
	case *svcv1.ServiceChainSet:
		want.(*svcv1.ServiceChainSet).Spec.DeepCopyInto(&o.Spec)
	case *svcv1.ServiceInterfaceSet:
		want.(*svcv1.ServiceInterfaceSet).Spec.DeepCopyInto(&o.Spec)
	case *svcv1.ServiceChain:
		want.(*svcv1.ServiceChain).Spec.DeepCopyInto(&o.Spec)
	case *svcv1.ServiceInterface:
		want.(*svcv1.ServiceInterface).Spec.DeepCopyInto(&o.Spec)
	case *unstructured.Unstructured:
		o.Object["spec"] = runtime.DeepCopyJSONValue(want.(*unstructured.Unstructured).Object["spec"])
	default:
		panic(fmt.Sprintf("%T isn't made of a template", o))
	}
}

// likeThis is an empty object of the same kind.
func likeThis(o client.Object) client.Object {
	if u, is := o.(*unstructured.Unstructured); is {
		empty := &unstructured.Unstructured{}
		empty.SetGroupVersionKind(u.GroupVersionKind())
		return empty
	}
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
}
