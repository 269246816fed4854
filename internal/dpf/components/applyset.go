package components

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/patch"
)

// Of an ApplySet, by KEP-3659: a parent says which kinds its members are of, and each member has the parent's ID.
const (
	partOfLabel          = "applyset.kubernetes.io/part-of"
	idLabel              = "applyset.kubernetes.io/id"
	toolingAnnotation    = "applyset.kubernetes.io/tooling"
	groupKindsAnnotation = "applyset.kubernetes.io/contains-group-kinds"

	// ParentName of the ConfigMap that is the parent.
	ParentName = "dpf-components"
	tooling    = "bedplate-dpf-manager/v1"
	// FieldManager of what is applied.
	FieldManager = "bedplate-dpf-manager"
	// appliedAnnotation names the object that it is on: a copy under another name, which has it, too, isn't ours. And it has a digest of all
	// that was applied: a field that isn't wanted any more is seen by nothing else.
	appliedAnnotation = "operator.dpu.nvidia.com/applied"
)

// ID of the ApplySet.
var ID = func() string {
	sum := sha256.Sum256([]byte(ParentName + "." + operatorv1.Namespace + ".ConfigMap."))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}()

// Members selects the members of the ApplySet, and what looks like them: see IsMember.
var Members = client.MatchingLabels{partOfLabel: ID}

// IsMember says whether an object is a member of the ApplySet, and not a copy of one: under another name, or in another namespace.
func IsMember(o client.Object) bool {
	here := o.GetNamespace() == "" || o.GetNamespace() == operatorv1.Namespace
	return here && o.GetLabels()[partOfLabel] == ID && applied(o)
}

// applied by the operator under this name. An earlier release wrote the digest alone, which has no "/".
func applied(o client.Object) bool {
	value := o.GetAnnotations()[appliedAnnotation]
	name, _, named := strings.Cut(value, "/")
	return value != "" && (!named || name == o.GetName())
}

// Set is what the operator has deployed. Its objects in the operator's namespace are owned by the configuration, too, so that they go
// with it.
type Set struct {
	// Client writes. Reader reads past any cache.
	Client client.Client
	Reader client.Reader
	Owner  *operatorv1.DPFOperatorConfig
	// Keep what isn't wanted any more: it is still needed.
	Keep bool
}

// State of a Set after it was applied.
type State struct {
	// Objects that are wanted, as they are now, in the order in which they were applied; nil where one couldn't be.
	Objects []*unstructured.Unstructured
	// Going are objects that are being deleted.
	Going []string
}

// Apply makes the Set what is wanted: nothing else stays. What is as it should be isn't written. An object that can't be applied, or a kind
// that can't be listed, holds up no others; the error is of all of them, and then nothing of that kind is deleted: it may be needed still.
func (s Set) Apply(ctx context.Context, wanted []*unstructured.Unstructured) (State, error) {
	parent, known, err := s.parent(ctx)
	if err != nil {
		return State{}, err
	}
	kinds := kindsOf(wanted)
	before := maps.Clone(kinds)
	maps.Copy(before, known)
	if len(before) > 0 { // before the first object of a kind: a later release would never prune it
		if err := s.putParent(ctx, parent, before); err != nil {
			return State{}, err
		}
	}
	members, failed, unknown := s.members(ctx, before)
	state, err := s.applyAll(ctx, wanted, members, failed)
	if err = errors.Join(unknown, err); s.Keep {
		return state, err
	}
	maps.DeleteFunc(members, func(id identity, _ *unstructured.Unstructured) bool { return failed[id.GroupKind] })
	going, pruneErr := s.prune(ctx, members)
	err = errors.Join(err, pruneErr)
	state.Going = append(state.Going, going...)
	switch {
	case err != nil || len(state.Going) > 0:
		return state, err
	case len(kinds) == 0:
		return state, s.removeParent(ctx, parent)
	}
	return state, s.putParent(ctx, parent, kinds)
}

// Remove the members of one kind, and return those that aren't gone.
func (s Set) Remove(ctx context.Context, kind schema.GroupKind) (going []string, _ error) {
	members, _, err := s.list(ctx, map[schema.GroupKind]bool{kind: true})
	if err != nil {
		return nil, err
	}
	return s.prune(ctx, members)
}

// identity of a member.
type identity struct {
	schema.GroupKind
	types.NamespacedName
}

func identityOf(o *unstructured.Unstructured) identity {
	return identity{o.GroupVersionKind().GroupKind(), client.ObjectKeyFromObject(o)}
}

func (i identity) String() string {
	if i.Namespace == "" {
		return i.Kind + " " + i.Name
	}
	return i.Kind + " " + i.NamespacedName.String()
}

// applyAll objects, and take them out of the members: what is left is to be pruned. Kinds in which something fails are noted.
func (s Set) applyAll(
	ctx context.Context, wanted []*unstructured.Unstructured, members map[identity]*unstructured.Unstructured, failed map[schema.GroupKind]bool,
) (state State, _ error) {
	var problems []error
	for _, want := range wanted {
		id := identityOf(want)
		now := members[id]
		delete(members, id)
		if now != nil && now.GetDeletionTimestamp() != nil { // afterwards it is created
			state.Objects = append(state.Objects, now)
			state.Going = append(state.Going, id.String())
			continue
		}
		applied, err := s.apply(ctx, want, now)
		if err != nil {
			failed[id.GroupKind] = true
			problems = append(problems, fmt.Errorf("apply %s: %w", id, err))
		}
		state.Objects = append(state.Objects, applied)
	}
	return state, errors.Join(problems...)
}

// apply one object that is so far as it is now, and return how it is then.
func (s Set) apply(ctx context.Context, want, now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fields, err := s.fields(want)
	if err != nil {
		return nil, err
	}
	options := []client.ApplyOption{client.FieldOwner(FieldManager)}
	if now == nil {
		if now, err = s.lost(ctx, want); err != nil {
			return nil, err
		}
	}
	if now != nil {
		if patch.Holds(now.Object, fields.Object) {
			return now, nil
		}
		fields.SetUID(now.GetUID()) // not another one that has replaced it
		options = append(options, client.ForceOwnership)
	}
	if err := s.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(fields), options...); err != nil {
		return nil, err
	}
	return fields, nil
}

// lost is an object of ours that others have taken the label of, or whose kind can't be listed. One that isn't ours isn't touched.
func (s Set) lost(ctx context.Context, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(want.GroupVersionKind())
	err := s.Reader.Get(ctx, client.ObjectKeyFromObject(want), now)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look whether there is another one: %w", err)
	case !applied(now):
		return nil, errors.New("there is one that isn't the operator's: rename or delete it")
	}
	return now, nil
}

// fields of an object as it is applied.
func (s Set) fields(want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u := want.DeepCopy()
	labels := u.GetLabels() // a copy
	if labels == nil {
		labels = map[string]string{}
	}
	labels[partOfLabel] = ID
	u.SetLabels(labels)
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if u.GetNamespace() == s.Owner.Namespace {
		u.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: operatorv1.GroupVersion.String(), Kind: "DPFOperatorConfig", Name: s.Owner.Name, UID: s.Owner.UID,
		}})
	}
	text, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encode it: %w", err)
	}
	sum := sha256.Sum256(text)
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[appliedAnnotation] = u.GetName() + "/" + base64.RawURLEncoding.EncodeToString(sum[:])
	u.SetAnnotations(annotations)
	return u, nil
}

// members of the Set, of these kinds and of those that this release deploys, and the kinds that they aren't known of. Without the parent,
// which others may have deleted, they are found, too.
func (s Set) members(ctx context.Context, kinds map[schema.GroupKind]bool) (
	members map[identity]*unstructured.Unstructured, failed map[schema.GroupKind]bool, _ error,
) {
	all, err := deployed()
	if err != nil {
		return nil, map[schema.GroupKind]bool{}, err
	}
	maps.Copy(all, kinds)
	return s.list(ctx, all)
}

// list the members of these kinds. There are none of a kind that isn't served any more.
func (s Set) list(ctx context.Context, kinds map[schema.GroupKind]bool) (
	members map[identity]*unstructured.Unstructured, failed map[schema.GroupKind]bool, _ error,
) {
	members, failed = map[identity]*unstructured.Unstructured{}, map[schema.GroupKind]bool{}
	var problems []error
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), byName) {
		all, err := s.labelled(ctx, kind)
		if err != nil {
			failed[kind] = true
			problems = append(problems, err)
			continue
		}
		for i := range all {
			if IsMember(&all[i]) {
				members[identityOf(&all[i])] = &all[i]
			}
		}
	}
	return members, failed, errors.Join(problems...)
}

// labelled is what has the label of the Set, of one kind.
func (s Set) labelled(ctx context.Context, kind schema.GroupKind) ([]unstructured.Unstructured, error) {
	mapping, err := s.Client.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the kind %s: %w", kind, err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kind.Kind + "List"))
	options := []client.ListOption{Members}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		options = append(options, client.InNamespace(operatorv1.Namespace))
	}
	if err := s.Reader.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	return list.Items, nil
}

// prune members, and return those that aren't gone.
func (s Set) prune(ctx context.Context, members map[identity]*unstructured.Unstructured) (going []string, _ error) {
	var problems []error
	byName := func(a, b identity) int { return strings.Compare(a.String(), b.String()) }
	for _, id := range slices.SortedFunc(maps.Keys(members), byName) {
		o := members[id]
		going = append(going, id.String())
		if o.GetDeletionTimestamp() != nil {
			continue
		}
		uid := o.GetUID()
		err := s.Client.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			problems = append(problems, fmt.Errorf("delete %s: %w", id, err))
		}
	}
	return going, errors.Join(problems...)
}

// parent of the Set, which may not exist yet, and the kinds of its members.
func (s Set) parent(ctx context.Context) (*corev1.ConfigMap, map[schema.GroupKind]bool, error) {
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: ParentName}}
	err := s.Reader.Get(ctx, client.ObjectKeyFromObject(parent), parent)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("read the parent of the components: %w", err)
	}
	if err == nil && parent.Labels[idLabel] != ID {
		return nil, nil, fmt.Errorf("ConfigMap %s isn't the operator's: rename or delete it", client.ObjectKeyFromObject(parent))
	}
	kinds := map[schema.GroupKind]bool{}
	for name := range strings.SplitSeq(parent.Annotations[groupKindsAnnotation], ",") {
		if name != "" {
			kinds[schema.ParseGroupKind(name)] = true
		}
	}
	return parent, kinds, nil
}

// putParent says which kinds there may be members of.
func (s Set) putParent(ctx context.Context, parent *corev1.ConfigMap, kinds map[schema.GroupKind]bool) error {
	var names []string
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), byName) {
		names = append(names, kind.String())
	}
	annotations := map[string]string{toolingAnnotation: tooling, groupKindsAnnotation: strings.Join(names, ",")}
	if parent.ResourceVersion == "" {
		parent.Labels, parent.Annotations = map[string]string{idLabel: ID}, annotations
		if err := s.Client.Create(ctx, parent); err != nil {
			return fmt.Errorf("create the parent of the components: %w", err)
		}
		return nil
	}
	if parent.Annotations[toolingAnnotation] == tooling && parent.Annotations[groupKindsAnnotation] == annotations[groupKindsAnnotation] {
		return nil
	}
	before := parent.DeepCopy()
	if parent.Annotations == nil {
		parent.Annotations = map[string]string{}
	}
	maps.Copy(parent.Annotations, annotations)
	if err := s.Client.Patch(ctx, parent, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the parent of the components: %w", err)
	}
	return nil
}

func (s Set) removeParent(ctx context.Context, parent *corev1.ConfigMap) error {
	if parent.UID == "" {
		return nil
	}
	if err := s.Client.Delete(ctx, parent, client.Preconditions{UID: &parent.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the parent of the components: %w", err)
	}
	return nil
}

func kindsOf(objects []*unstructured.Unstructured) map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, o := range objects {
		kinds[o.GroupVersionKind().GroupKind()] = true
	}
	return kinds
}

func byName(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) }
