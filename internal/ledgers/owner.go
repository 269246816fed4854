package ledgers

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// Owner is a Kubernetes object that outside resources are created for. What was created for it is in its
// ledger. It may be an adapter for an object of another kind: then it has a method Unwrap() client.Object too.
type Owner interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
	// OutsideIDs are the IDs of outside resources that spec and status show, by the names of their kinds. They come from the
	// ledger: IDs that it lacks mean that it is lost, or an older one.
	OutsideIDs() []ledgerv1.OutsideID
}

// ObjectOf is the object that the API server knows. An owner of a kind that isn't ours is an adapter for it, which says
// where conditions and IDs are.
func ObjectOf(owner client.Object) client.Object {
	if shell, ok := owner.(interface{ Unwrap() client.Object }); ok {
		return shell.Unwrap()
	}
	return owner
}

// KindOf is the kind of an object by its Go type: what was read from a server doesn't say it.
func KindOf(owner client.Object) string { return reflect.TypeOf(ObjectOf(owner)).Elem().Name() }

// ReferenceTo is an owner reference to an owner.
func ReferenceTo(owner Owner, scheme *runtime.Scheme) (metav1.OwnerReference, error) {
	object := ObjectOf(owner)
	kind, err := apiutil.GVKForObject(object, scheme)
	return metav1.OwnerReference{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: object.GetName(), UID: object.GetUID(),
	}, err
}
