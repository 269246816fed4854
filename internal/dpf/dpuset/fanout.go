package dpuset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/status"
	"github.com/bedplate/bedplate/internal/patch"
)

// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=servicechainsets;serviceinterfacesets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=servicechainsets/status;serviceinterfacesets/status,verbs=patch
// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=servicechainsets/finalizers;serviceinterfacesets/finalizers,verbs=update
// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=servicechains;serviceinterfaces,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// setKind is a kind of sets, and what its nodes get.
type setKind struct {
	name     string
	empty    object
	list     client.ObjectList
	child    object
	children client.ObjectList
	// finalizer of a set, and that with which a DPU's agent keeps a child.
	finalizer, agents string
	reconciled, ready string

	selector func(object) *metav1.LabelSelector
	status   func(object) *svcv1.SetStatus
	// want is what a node gets.
	want func(set object, node string) client.Object
	node func(child client.Object) string
}

var setKinds = []setKind{
	{
		name: ChainSets, empty: &svcv1.ServiceChainSet{}, list: &svcv1.ServiceChainSetList{},
		child: &svcv1.ServiceChain{}, children: &svcv1.ServiceChainList{},
		finalizer: svcv1.ServiceChainSetFinalizer, agents: svcv1.ServiceChainFinalizer,
		reconciled: svcv1.ServiceChainsReconciledCondition, ready: svcv1.ServiceChainsReadyCondition,
		selector: func(o object) *metav1.LabelSelector { return o.(*svcv1.ServiceChainSet).Spec.NodeSelector },
		status:   func(o object) *svcv1.SetStatus { return &o.(*svcv1.ServiceChainSet).Status },
		want: func(set object, node string) client.Object {
			template := set.(*svcv1.ServiceChainSet).Spec.Template.DeepCopy()
			template.Spec.Node = node
			return &svcv1.ServiceChain{ObjectMeta: metadata(template.Metadata), Spec: template.Spec}
		},
		node: func(o client.Object) string { return o.(*svcv1.ServiceChain).Spec.Node },
	},
	{
		name: InterfaceSets, empty: &svcv1.ServiceInterfaceSet{}, list: &svcv1.ServiceInterfaceSetList{},
		child: &svcv1.ServiceInterface{}, children: &svcv1.ServiceInterfaceList{},
		finalizer: svcv1.ServiceInterfaceSetFinalizer, agents: svcv1.ServiceInterfaceFinalizer,
		reconciled: svcv1.ServiceInterfacesReconciledCondition, ready: svcv1.ServiceInterfacesReadyCondition,
		selector: func(o object) *metav1.LabelSelector { return o.(*svcv1.ServiceInterfaceSet).Spec.NodeSelector },
		status:   func(o object) *svcv1.SetStatus { return &o.(*svcv1.ServiceInterfaceSet).Status },
		want: func(set object, node string) client.Object {
			template := set.(*svcv1.ServiceInterfaceSet).Spec.Template.DeepCopy()
			template.Spec.Node = node
			made := &svcv1.ServiceInterface{ObjectMeta: metadata(template.Metadata), Spec: template.Spec}
			if service := template.Spec.Service; service != nil {
				if made.Labels == nil {
					made.Labels = map[string]string{}
				}
				made.Labels[svcv1.ServiceIDLabel] = service.ServiceID
			}
			return made
		},
		node: func(o client.Object) string { return o.(*svcv1.ServiceInterface).Spec.Node },
	},
}

// Kinds of sets, for SetupFanOut.
const (
	ChainSets     = "ServiceChainSet"
	InterfaceSets = "ServiceInterfaceSet"
)

// SetupFanOut registers the controllers of a DPU cluster: of these kinds of sets.
func SetupFanOut(mgr ctrl.Manager, options controller.Options, kinds ...string) error {
	var problems []error
	for _, k := range setKinds {
		if !slices.Contains(kinds, k.name) {
			continue
		}
		f := &fanOut{Client: mgr.GetClient(), live: mgr.GetAPIReader(), setKind: k}
		err := ctrl.NewControllerManagedBy(mgr).Named(strings.ToLower(k.name)).For(k.empty).Owns(k.child).
			WatchesMetadata(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(f.all),
				builder.WithPredicates(predicate.LabelChangedPredicate{})). // and created and deleted ones
			WithOptions(options).Complete(patch.ExpectConflicts(f))
		if err != nil {
			problems = append(problems, fmt.Errorf("set up the controller of %ss: %w", k.name, err))
		}
	}
	return errors.Join(problems...)
}

// fanOut makes an object for each node that a set chooses.
type fanOut struct {
	client.Client
	live client.Reader
	setKind
}

// all sets, and those that are gone but have children.
func (f *fanOut) all(ctx context.Context, _ client.Object) (requests []ctrl.Request) {
	seen := map[types.NamespacedName]bool{}
	enqueue := func(name types.NamespacedName) {
		if !seen[name] {
			seen[name] = true
			requests = append(requests, ctrl.Request{NamespacedName: name})
		}
	}
	sets, children := f.list.DeepCopyObject().(client.ObjectList), f.children.DeepCopyObject().(client.ObjectList)
	err := errors.Join(f.List(ctx, sets), f.List(ctx, children))
	err = errors.Join(err, meta.EachListItem(sets, func(item runtime.Object) error {
		enqueue(client.ObjectKeyFromObject(item.(client.Object)))
		return nil
	}), meta.EachListItem(children, func(item runtime.Object) error {
		child := item.(client.Object)
		if owner := metav1.GetControllerOf(child); owner != nil && owner.Kind == f.name {
			enqueue(types.NamespacedName{Namespace: child.GetNamespace(), Name: owner.Name})
		}
		return nil
	}))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue all sets for a Node", "kind", f.name)
	}
	return requests
}

// Reconcile a set.
func (f *fanOut) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	set := f.empty.DeepCopyObject().(object)
	err := f.Get(ctx, req.NamespacedName, set)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err != nil || set.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, f.delete(ctx, req.NamespacedName, set)
	}
	if err := patch.AddFinalizer(ctx, f.Client, set, f.finalizer); err != nil {
		return ctrl.Result{}, err
	}
	children, err := f.childrenOf(ctx, f.Client, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := set.DeepCopyObject().(object)
	err = f.spread(ctx, set, children)
	if apierrors.IsConflict(err) {
		return ctrl.Result{}, err
	}
	status.Sum(set, f.reconciled, f.ready)
	return ctrl.Result{}, errors.Join(err, patch.All(ctx, f.Client, before, set))
}

// childrenOf a set by its name: where it is gone, its UID isn't known.
func (f *fanOut) childrenOf(ctx context.Context, from client.Reader, set types.NamespacedName) (children []object, _ error) {
	all := f.children.DeepCopyObject().(client.ObjectList)
	if err := from.List(ctx, all, client.InNamespace(set.Namespace)); err != nil {
		return nil, fmt.Errorf("list what the set has made: %w", err)
	}
	return children, meta.EachListItem(all, func(item runtime.Object) error {
		child := item.(object)
		if owner := metav1.GetControllerOf(child); owner != nil && owner.Kind == f.name && owner.Name == set.Name {
			children = append(children, child)
		}
		return nil
	})
}

// chosen nodes of a set.
func (f *fanOut) chosen(ctx context.Context, set object) (map[string]bool, error) {
	selector := labels.Everything()
	if given := f.selector(set); given != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(given); err != nil {
			return nil, fmt.Errorf("read the nodeSelector: %w", err)
		}
	}
	nodes := &metav1.PartialObjectMetadataList{}
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := f.List(ctx, nodes, client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list the Nodes: %w", err)
	}
	names := map[string]bool{}
	for i := range nodes.Items {
		names[nodes.Items[i].Name] = true
	}
	return names, nil
}

// spread a set over its nodes.
func (f *fanOut) spread(ctx context.Context, set object, children []object) error {
	chosen, err := f.chosen(ctx, set)
	if err != nil {
		status.Set(set, f.reconciled, svcv1.ReasonFailure, err.Error())
		return err
	}
	applied, ready := int32(0), int32(0)
	var stale []object
	var problems []error
	var unwritten, waiting []string
	for _, child := range children {
		node := f.node(child)
		if !metav1.IsControlledBy(child, set) || !chosen[node] || child.GetDeletionTimestamp() != nil {
			stale = append(stale, child)
			continue
		}
		delete(chosen, node)
		before := child.DeepCopyObject().(object)
		fill(child, f.want(set, node))
		if err := patch.All(ctx, f.Client, before, child); err != nil {
			problems = append(problems, err)
			unwritten = append(unwritten, "node "+node)
			continue
		}
		applied++
		if status.IsReady(child) {
			ready++
			continue
		}
		waiting = append(waiting, "node "+node)
	}
	problems = append(problems, f.removeStale(ctx, stale))
	for _, child := range stale { // also where the node is to have another one: the old one goes first
		delete(chosen, f.node(child))
		unwritten = append(unwritten, "node "+f.node(child))
	}
	for node := range chosen {
		if err := f.create(ctx, set, node); err != nil {
			problems = append(problems, err)
			unwritten = append(unwritten, "node "+node)
			continue
		}
		applied++
		waiting = append(waiting, "node "+node)
	}
	f.show(set, applied, ready, unwritten, waiting)
	return firstConflict(problems)
}
