// Package controller reconciles ResourceGroups and ManagedResources: a central of OVN for each group, the rows that group and
// members ask for, and the calls to the agents of the members' DPUs.
package controller

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/patch"
)

// sweepInterval is how often unused connections to agents are closed.
const sweepInterval = time.Minute

// Config of the controllers.
type Config struct {
	Centrals central.Runtime
	Agents   *agents.Pool
	// Lease is how long a host stays attached while the controller is away.
	Lease time.Duration
	// Poll is how often everything is reconciled without an event.
	Poll time.Duration
	// Own are the addresses of this process, if it has any that tenants may reach.
	Own func() ([]netip.Addr, error)
	// Namespace is where the Services are that lead to the manager and the proxy.
	Namespace string
	// SpeakersNamespace is where the BGP speakers have their leases.
	SpeakersNamespace string
	Options           controller.Options
}

// Setup registers the controllers with a manager. ctx ends with the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, config Config) error {
	if err := Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	networks := newNetworks(ctx, config.Centrals, config.Agents)
	leases := newHostLeases(config.Lease)
	recorder := mgr.GetEventRecorder("bedplate-hydrazine")
	control := &controlPlane{Reader: mgr.GetClient(), live: mgr.GetAPIReader(), namespace: config.Namespace, own: config.Own, now: time.Now}
	groups := &groupReconciler{
		Client: mgr.GetClient(), live: mgr.GetAPIReader(), networks: networks, events: recorder, poll: config.Poll, control: control,
		pace:      newPace(time.Now),
		underlays: &underlays{Reader: mgr.GetClient(), now: time.Now},
	}
	resources := &resourceReconciler{
		Client: mgr.GetClient(), control: control, networks: networks, agents: config.Agents, events: recorder,
		lease: config.Lease, leases: leases, turns: newTurns(), poll: config.Poll, now: time.Now,
		pool: &pool{Client: mgr.GetClient(), live: mgr.GetAPIReader(), given: map[types.UID]*networkfabricv1.PublicIP{}},
	}
	publicIPs := &publicIPReconciler{
		Client: mgr.GetClient(), networks: networks, events: recorder, poll: config.Poll, leases: leases,
		speakers: newSpeakers(mgr.GetAPIReader(), config.SpeakersNamespace),
	}
	return errors.Join(
		groups.setup(mgr, config.Options), resources.setup(mgr, config.Options), publicIPs.setup(mgr, config.Options),
		mgr.Add(manager.RunnableFunc(networks.Start)), mgr.Add(manager.RunnableFunc(resources.sweep)),
	)
}

func (r *groupReconciler) setup(mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		For(&resourcev1.ResourceGroup{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&resourcev1.ManagedResource{}, handler.EnqueueRequestsFromMapFunc(r.groupsOf), builder.WithPredicates(placeChanged)).
		Watches(&resourcev1.ManagedResource{}, handler.Funcs{CreateFunc: r.hostCreated, UpdateFunc: r.underlayChanged}).
		Watches(&networkfabricv1.PublicIP{}, handler.EnqueueRequestsFromMapFunc(r.groupOfHolder)).
		Watches(&networkfabricv1.FabricPolicy{}, handler.EnqueueRequestsFromMapFunc(r.all)).
		WatchesRawSource(source.Channel(r.networks.groups, mapped(r.groupWithUID))).
		WithOptions(options).
		Complete(patch.ExpectConflicts(r))
	if err != nil {
		return fmt.Errorf("set up the controller of ResourceGroups: %w", err)
	}
	return nil
}

func (r *resourceReconciler) setup(mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		For(&resourcev1.ManagedResource{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&resourcev1.ManagedResource{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(precedenceChanged)).
		Watches(&resourcev1.ResourceGroup{}, handler.EnqueueRequestsFromMapFunc(r.membersOf), builder.WithPredicates(homeChanged)).
		Watches(&networkfabricv1.PublicIP{}, handler.EnqueueRequestsFromMapFunc(r.concernedBy)).
		WatchesRawSource(source.Channel(r.agents.Changes(), mapped(r.behind))).
		WatchesRawSource(source.Channel(r.networks.ports, mapped(r.withPort))).
		WithOptions(options).
		Complete(patch.ExpectConflicts(r))
	if err != nil {
		return fmt.Errorf("set up the controller of ManagedResources: %w", err)
	}
	return nil
}

func (r *publicIPReconciler) setup(mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		For(&networkfabricv1.PublicIP{}).
		Watches(&networkfabricv1.PublicIP{}, handler.EnqueueRequestsFromMapFunc(r.namesakes)).
		Watches(&resourcev1.ManagedResource{}, handler.EnqueueRequestsFromMapFunc(r.heldBy)).
		WithOptions(options).
		Complete(patch.ExpectConflicts(r)) // speakers write into the same objects
	if err != nil {
		return fmt.Errorf("set up the controller of PublicIPs: %w", err)
	}
	return nil
}

// placeChanged: what a group's rows depend on. Conditions aren't a part of that, and a new host has no place yet.
var placeChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		old, now := e.ObjectOld.(*resourcev1.ManagedResource), e.ObjectNew.(*resourcev1.ManagedResource)
		return old.Generation != now.Generation ||
			!equality.Semantic.DeepEqual(old.Status.LogicalPortReference, now.Status.LogicalPortReference) ||
			!slices.Equal(old.Status.UnprovenDPUAddresses, now.Status.UnprovenDPUAddresses)
	},
}

// precedenceChanged: what decides which host is first. A host's own reconciler needs these events too: it may have called a
// host isolated before it saw the promise that it had written.
var precedenceChanged = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	old, now := e.ObjectOld.(*resourcev1.ManagedResource), e.ObjectNew.(*resourcev1.ManagedResource)
	return attachedByUs(old) != attachedByUs(now)
}})

// homeChanged: what a host's place depends on.
var homeChanged = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	old, now := e.ObjectOld.(*resourcev1.ResourceGroup), e.ObjectNew.(*resourcev1.ResourceGroup)
	return !equality.Semantic.DeepEqual(old.Status.SoftwareNetworkConfiguration, now.Status.SoftwareNetworkConfiguration)
}})

// groupsOf a resource, and of those that share its DPU: what one of them may have depends on the others.
func (r *groupReconciler) groupsOf(ctx context.Context, object client.Object) []reconcile.Request {
	resource := object.(*resourcev1.ManagedResource)
	all, err := neighbours(ctx, r, resource, []resourcev1.ManagedResource{*resource})
	if err != nil {
		return nil // the cache has ended
	}
	requests := make([]reconcile.Request, 0, len(all))
	for i := range all {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: all[i].Namespace, Name: all[i].Spec.ResourceGroup,
		}})
	}
	return requests
}

// gatherDelay batches changes that aren't urgent: hosts, which make no difference to their group before they have a place, and
// DPUs, before all groups keep their hosts away from them.
const gatherDelay = time.Second

// hostCreated counts a host.
func (r *groupReconciler) hostCreated(
	ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	if len(e.Object.(*resourcev1.ManagedResource).Status.DPUAddresses) > 0 { // only at the start, or after a gap
		r.underlays.changed.Store(true)
	}
	for _, request := range r.groupsOf(ctx, e.Object) {
		queue.AddAfter(request, gatherDelay)
	}
}

// underlayChanged notifies all groups of a DPU that has a new address: no host may reach any DPU. A removed address isn't urgent, and
// any user can cause that by naming another DPU in a host.
func (r *groupReconciler) underlayChanged(
	ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	old, now := e.ObjectOld.(*resourcev1.ManagedResource), e.ObjectNew.(*resourcev1.ManagedResource)
	if !slices.ContainsFunc(now.Status.DPUAddresses, func(ip resourcev1.IPAddress) bool {
		return !slices.Contains(old.Status.DPUAddresses, ip)
	}) {
		return
	}
	r.underlays.changed.Store(true)
	after := r.pace.after(now.Spec.DPUIPs[0], gatherDelay)
	for _, request := range r.all(ctx, nil) {
		queue.AddAfter(request, after)
	}
}

// all groups.
func (r *groupReconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &resourcev1.ResourceGroupList{}
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache has ended
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// groupOfHolder is that of the host which has a public address.
func (r *groupReconciler) groupOfHolder(ctx context.Context, object client.Object) []reconcile.Request {
	of := object.(*networkfabricv1.PublicIP).Status.ManagedResource
	if of == nil {
		return nil
	}
	holder := &resourcev1.ManagedResource{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, holder); err != nil {
		return nil // it is gone, and its group was notified of that
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: of.Namespace, Name: holder.Spec.ResourceGroup}}}
}

func (r *groupReconciler) groupWithUID(ctx context.Context, uid types.UID) []reconcile.Request {
	list := &resourcev1.ResourceGroupList{}
	if err := r.List(ctx, list, client.MatchingFields{byUID: string(uid)}); err != nil {
		return nil // the cache has ended
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// rivals are those that a resource keeps out, or that keep it out, and the resource itself.
func (r *resourceReconciler) rivals(ctx context.Context, object client.Object) []reconcile.Request {
	resource := object.(*resourcev1.ManagedResource)
	inGroup, err := members(ctx, r, types.NamespacedName{Namespace: resource.Namespace, Name: resource.Spec.ResourceGroup})
	if err != nil {
		return nil // the cache has ended
	}
	var same []resourcev1.ManagedResource
	for i := range inGroup {
		if c := condition(&inGroup[i], resourcev1.AcceptedCondition); c != nil && c.Status != "True" {
			same = append(same, inGroup[i])
		}
	}
	all, err := neighbours(ctx, r, resource, same)
	if err != nil {
		return nil // the cache has ended
	}
	return requestsFor(all)
}

func (r *resourceReconciler) membersOf(ctx context.Context, object client.Object) []reconcile.Request {
	all, err := members(ctx, r, client.ObjectKeyFromObject(object))
	if err != nil {
		return nil // the cache has ended
	}
	return requestsFor(all)
}

// concernedBy a public address are the host that has it, and while no host has it those that want one: also one whose reconcile is
// just finding none.
func (r *resourceReconciler) concernedBy(ctx context.Context, object client.Object) []reconcile.Request {
	if of := object.(*networkfabricv1.PublicIP).Status.ManagedResource; of != nil {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: of.Namespace, Name: of.Name}}}
	}
	return r.with(ctx, byLack, lacking)
}

// heldBy a host: its public addresses, and those that are its DPU's by mistake.
func (r *publicIPReconciler) heldBy(ctx context.Context, object client.Object) []reconcile.Request {
	requests := r.with(ctx, byHolder, string(object.GetUID()))
	for _, ip := range addresses(object.(*resourcev1.ManagedResource)) {
		requests = append(requests, r.with(ctx, byAddress, ip)...)
	}
	return requests
}

// namesakes of a PublicIP have its address too.
func (r *publicIPReconciler) namesakes(ctx context.Context, object client.Object) []reconcile.Request {
	return r.with(ctx, byAddress, string(object.(*networkfabricv1.PublicIP).Spec.IPAddress))
}

func (r *publicIPReconciler) with(ctx context.Context, field, value string) []reconcile.Request {
	list := &networkfabricv1.PublicIPList{}
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy, client.MatchingFields{field: value}); err != nil {
		return nil // the cache has ended
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// behind are the hosts that a change of what a DPU's agent says concerns. Which change of OVN the datapath has concerns only those of which it
// is to release an address: that is another one whenever anything changes in its group.
func (r *resourceReconciler) behind(ctx context.Context, dpu agents.Change) []reconcile.Request {
	all := r.listed(ctx, byDPUIP, dpu.Address)
	if dpu.Datapath {
		all = slices.DeleteFunc(all, func(h resourcev1.ManagedResource) bool { return !releasing(&h) })
	}
	return requestsFor(all)
}

func (r *resourceReconciler) withPort(ctx context.Context, port string) []reconcile.Request {
	return r.with(ctx, byPort, port)
}

func (r *resourceReconciler) with(ctx context.Context, field, value string) []reconcile.Request {
	return requestsFor(r.listed(ctx, field, value))
}

func (r *resourceReconciler) listed(ctx context.Context, field, value string) []resourcev1.ManagedResource {
	list := &resourcev1.ManagedResourceList{}
	if err := r.List(ctx, list, client.MatchingFields{field: value}); err != nil {
		return nil // the cache has ended
	}
	return list.Items
}

func requestsFor(all []resourcev1.ManagedResource) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(all))
	for i := range all {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all[i])})
	}
	return requests
}

// mapped is a handler for a channel of what isn't an object.
func mapped[T any](requests func(context.Context, T) []reconcile.Request) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(requests)
}

// sweep closes the unused connections to agents.
func (r *resourceReconciler) sweep(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		r.agents.Keep(func(address string) bool { return len(r.with(ctx, byDPUIP, address)) > 0 })
	}, sweepInterval)
	return nil
}
