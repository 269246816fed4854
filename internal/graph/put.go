package graph

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// putter is the field owner of the objects that a graph puts into Kubernetes.
const putter = "bedplate"

// Object is a Kubernetes object that belongs to a graph, such as a Secret with a resource's answer. It is in the owner's namespace and
// is deleted with it, by its owner reference.
type Object struct {
	// Key within the graph, and condition of the owner that reports on it.
	Key, Condition string
	// After lists what must be ready before.
	After []Ref
	// Make returns what of the object is ours: its name, and fields that are applied as they are. It may call a service, but changes
	// nothing.
	Make func(ctx context.Context) (client.Object, error)
}

// Put adds a Kubernetes object. An existing object of that name that isn't the owner's isn't touched.
func (g *Graph) Put(o Object) Ref {
	p := &put{g, o}
	return g.add(&node{key: o.Key, condition: o.Condition, after: o.After, reconcile: p.reconcile, plan: p.plan})
}

type put struct {
	g *Graph
	Object
}

func (n *put) reconcile(ctx context.Context, _ string) phases.Phase {
	wanted, existing, err := n.look(ctx)
	switch {
	case err != nil:
	case existing == nil: // an apply would overwrite what another client has created meanwhile
		err = asFault("create", wanted, n.g.engine.Client.Create(ctx, wanted, client.FieldOwner(putter)))
	default:
		wanted.SetUID(existing.GetUID()) // or it has been replaced since
		err = n.apply(ctx, wanted)
	}
	if err != nil {
		return phases.Of(err)
	}
	return phases.Ready()
}

func (n *put) plan(ctx context.Context, missing []string) []Step {
	step := Step{Key: n.Key, Action: ActionCreate, After: missing}
	if len(missing) > 0 {
		return []Step{step}
	}
	if before := n.g.firstUnready(n.After); before != "" {
		return []Step{{Key: n.Key, Action: ActionWait, Why: phases.WaitsFor(before).Message}}
	}
	wanted, existing, err := n.look(ctx)
	if err == nil {
		step.Kind, step.ID = wanted.GetKind(), wanted.GetName()
		applied := wanted.DeepCopy()
		err = n.apply(ctx, applied, client.DryRunAll)
		if apierrors.IsForbidden(err) { // a plan may have read access only: then compare with what we would apply
			err = nil
		} else {
			wanted = applied
		}
	}
	switch {
	case err != nil:
		return []Step{failing(step, err.Error())}
	case existing == nil:
	case sameContent(wanted, existing):
		step.Action = ActionKeep
	default:
		step.Action = ActionChange
	}
	return []Step{step}
}

// look builds the wanted object, and reads the existing one past the cache; nil if there is none.
func (n *put) look(ctx context.Context) (wanted, existing *unstructured.Unstructured, err error) {
	if wanted, err = n.wanted(ctx); err != nil {
		return nil, nil, err
	}
	existing = &unstructured.Unstructured{}
	existing.SetGroupVersionKind(wanted.GroupVersionKind())
	err = n.g.engine.Live.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	if apierrors.IsNotFound(err) {
		return wanted, nil, nil
	} else if err != nil {
		return nil, nil, asFault("read", wanted, err)
	}
	if !slices.ContainsFunc(existing.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == n.g.owner.GetUID() }) {
		return nil, nil, &fault.Error{Class: fault.Conflict, Err: fmt.Errorf(
			"%s %s exists already and doesn't belong to this object: delete it, or create this object with another name",
			wanted.GetKind(), wanted.GetName())}
	}
	return wanted, existing, nil
}

// wanted is the object as it is applied: beside its owner, and with a reference to it.
func (n *put) wanted(ctx context.Context) (*unstructured.Unstructured, error) {
	object, err := n.Make(ctx)
	if err != nil {
		return nil, err
	}
	if object == nil || reflect.ValueOf(object).IsNil() || object.GetName() == "" {
		return nil, fault.Invalidf("the object under %s has no name: this is a bug, please report it", n.Key)
	}
	kind, err := apiutil.GVKForObject(object, n.g.engine.Client.Scheme())
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", n.Key, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(n.g.owner.GetNamespace())
	reference, err := ledgers.ReferenceTo(n.g.owner, n.g.engine.Client.Scheme())
	u.SetOwnerReferences([]metav1.OwnerReference{reference})
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "status")
	return u, err
}

// apply an object server-side, with force: changes of other clients to our fields are corrected.
func (n *put) apply(ctx context.Context, wanted *unstructured.Unstructured, options ...client.ApplyOption) error {
	options = append(options, client.FieldOwner(putter), client.ForceOwnership)
	return asFault("apply", wanted, n.g.engine.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), options...))
}

// asFault gives an answer of the API server its class. Forbidden needs another role, not a retry. If another client was faster, the next
// round handles that.
func asFault(verb string, object *unstructured.Unstructured, err error) error {
	class := fault.Transient
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return phases.ErrStale
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err):
		class = fault.Invalid
	}
	return &fault.Error{Class: class, Op: verb + " " + object.GetKind() + " " + object.GetName(), Err: err}
}

// sameContent compares the result of an apply with the existing object; if the result isn't known, only the fields that
// are ours.
func sameContent(applied, existing *unstructured.Unstructured) bool {
	strip := func(u *unstructured.Unstructured) map[string]any {
		u = u.DeepCopy()
		for _, field := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
			unstructured.RemoveNestedField(u.Object, "metadata", field)
		}
		return u.Object
	}
	if applied.GetUID() == "" {
		return equality.Semantic.DeepDerivative(strip(applied), strip(existing))
	}
	return equality.Semantic.DeepEqual(strip(applied), strip(existing))
}

func refs(all []Ref) (keys []string) {
	for _, r := range all {
		keys = append(keys, r.ref())
	}
	return keys
}
