package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
	"github.com/bedplate/bedplate/internal/patch"
)

// publicIPReconciler says where each public address leads, and frees those that aren't to be used any more.
//
// The status of a PublicIP is the only record of its host. Speakers write into it too, so every write here fails on conflict:
// an address is free when no speaker may announce it, and none starts meanwhile.
type publicIPReconciler struct {
	client.Client
	networks *networks
	speakers *speakers
	events   events.EventRecorder
	// poll is how soon something without events is retried.
	poll       time.Duration
	leases     *hostLeases // of hosts
	announcing announcing
}

// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=publicips,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=publicips/status,verbs=patch

// Reconcile a PublicIP.
func (r *publicIPReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ip := &networkfabricv1.PublicIP{}
	if err := r.Get(ctx, request.NamespacedName, ip); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deleted := !ip.DeletionTimestamp.IsZero()
	if deleted && !controllerutil.ContainsFinalizer(ip, networkfabricv1.PublicIPFinalizer) {
		return ctrl.Result{}, nil
	}
	if !deleted {
		if err := patch.AddFinalizer(ctx, r.Client, ip, networkfabricv1.PublicIPFinalizer); err != nil {
			return ctrl.Result{}, err
		}
	}
	before := ip.DeepCopy()
	result, err := r.reconcile(ctx, ip)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.write(ctx, before, ip); err != nil {
		return ctrl.Result{}, err
	}
	r.announcing.note(ip)
	if deleted && !ip.Status.Allocated {
		return ctrl.Result{}, patch.RemoveFinalizer(ctx, r.Client, ip, networkfabricv1.PublicIPFinalizer)
	}
	return result, nil
}

func (r *publicIPReconciler) reconcile(ctx context.Context, ip *networkfabricv1.PublicIP) (ctrl.Result, error) {
	again := r.buryAnnouncers(ctx, ip)
	if !ip.Status.Allocated {
		return again, r.offer(ctx, ip)
	}
	holder, err := r.holder(ctx, ip)
	if err != nil {
		return ctrl.Result{}, err
	}
	if holder == nil {
		return r.takeBack(ctx, ip)
	}
	ip.Status.NextHop = nextHop(holder)
	switch {
	case ip.Status.NextHop == "":
		unmet(ip, resourcev1.ReadyCondition, reasonNotAttached, fmt.Sprintf("ManagedResource %s isn't attached: see its conditions", holder.Name))
	case len(ip.Status.AnnouncedBy) == 0:
		unmet(ip, resourcev1.ReadyCondition, reasonNotAnnounced, notAnnounced)
	default:
		set(ip, resourcev1.ReadyCondition, metav1.ConditionTrue, reasonAnnounced, "")
	}
	return again, nil
}

// buryAnnouncers removes the names of speakers that have been silent for so long that no router keeps their routes any more:
// they can't do so themselves. It says when to check the others again. One of which nothing is known keeps its name.
func (r *publicIPReconciler) buryAnnouncers(ctx context.Context, ip *networkfabricv1.PublicIP) (again ctrl.Result) {
	since := time.Time{}
	if c := condition(ip, resourcev1.ReadyCondition); c != nil && c.Reason == reasonWithdrawing {
		since = c.LastTransitionTime.Time
	}
	var still []string
	for _, name := range ip.Status.AnnouncedBy {
		wait, err := r.speakers.silentIn(ctx, name, since)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "It isn't known whether a BGP speaker lives", "speaker", name)
			wait = r.poll
		}
		if wait <= 0 {
			continue
		}
		still = append(still, name)
		if again.RequeueAfter == 0 || wait < again.RequeueAfter {
			again.RequeueAfter = wait
		}
	}
	ip.Status.AnnouncedBy = still
	return again
}

const notAnnounced = "no BGP speaker announces the address: check that hydrazine-speaker runs, and the sessions in the status of the BGPConfiguration"

// offer an unused address.
func (r *publicIPReconciler) offer(ctx context.Context, ip *networkfabricv1.PublicIP) error {
	if len(ip.Status.AnnouncedBy) > 0 { // a speaker that was too late removes its name
		r.withdrawing(ip, false)
		return nil
	}
	all, err := PublicIPsWith(ctx, r, ip.Spec.IPAddress)
	if err != nil {
		return err
	}
	if other := namesakeIP(ip, all); other != nil {
		unmet(ip, resourcev1.ReadyCondition, reasonSameAddress,
			fmt.Sprintf("PublicIP %s has the same address and takes precedence: delete one of the two", other.Name))
		return nil
	}
	dpus, err := WithFabricIP(ctx, r, ip.Spec.IPAddress)
	if err != nil {
		return err
	}
	if len(dpus) > 0 {
		unmet(ip, resourcev1.ReadyCondition, reasonSameAddress, fmt.Sprintf(
			"ManagedResource %s/%s has the address in its dpuIPs: delete this PublicIP or that ManagedResource", dpus[0].Namespace, dpus[0].Name))
		return nil
	}
	set(ip, resourcev1.ReadyCondition, metav1.ConditionTrue, reasonAvailable, "")
	return nil
}

// namesakeIP is another PublicIP with the same address that takes precedence.
func namesakeIP(ip *networkfabricv1.PublicIP, all []networkfabricv1.PublicIP) *networkfabricv1.PublicIP {
	for i := range all {
		other := &all[i]
		if other.UID == ip.UID || other.Spec.IPAddress != ip.Spec.IPAddress {
			continue
		}
		older := other.CreationTimestamp.Compare(ip.CreationTimestamp.Time)
		if other.Status.Allocated && !ip.Status.Allocated ||
			other.Status.Allocated == ip.Status.Allocated && (older < 0 || older == 0 && other.UID < ip.UID) {
			return other
		}
	}
	return nil
}

// holder of an address that is to keep it, or nil.
func (r *publicIPReconciler) holder(ctx context.Context, ip *networkfabricv1.PublicIP) (*resourcev1.ManagedResource, error) {
	of := ip.Status.ManagedResource
	if of == nil || !ip.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	resource := &resourcev1.ManagedResource{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, resource); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get ManagedResource %s/%s: %w", of.Namespace, of.Name, err)
	}
	if resource.UID != of.UID || !resource.DeletionTimestamp.IsZero() || resource.Spec.HostAccess != resourcev1.PublicAccess ||
		!sameVersion(ip, resource) {
		return nil, nil
	}
	group := &resourcev1.ResourceGroup{}
	err := r.Get(ctx, types.NamespacedName{Namespace: resource.Namespace, Name: resource.Spec.ResourceGroup}, group)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get ResourceGroup %s: %w", resource.Spec.ResourceGroup, err)
	}
	if err == nil && group.Spec.NetworkImplementationType == resourcev1.FabricNetwork {
		return nil, nil // the carrier of such a network has public addresses of its own
	}
	first, err := firstOf(ctx, r, resource.UID)
	if err != nil || first == nil || first.UID != ip.UID {
		return nil, err // it has two: the other one is enough
	}
	return resource, nil
}

// sameVersion of IP have the address and the host's.
func sameVersion(ip *networkfabricv1.PublicIP, resource *resourcev1.ManagedResource) bool {
	return overlay.Address(ip.Spec.IPAddress).BitLen() == overlay.Address(resource.Spec.HostIP).BitLen()
}

// nextHop of a host's public address: its fabric address, while a DPU has the host on its network. What an agent merely
// complains about, or can't say, takes no host off the internet.
func nextHop(resource *resourcev1.ManagedResource) resourcev1.IPAddress {
	at := resource.Status.LogicalPortReference
	if !attachedByUs(resource) || leaving(resource) || at == nil || at.Agent != resource.Spec.DPUIPs[0] || at.FabricPrefixLength == 0 ||
		len(resource.Spec.DPUIPs) < 2 || at.FabricIP != resource.Spec.DPUIPs[1] ||
		resource.Spec.State != resourcev1.Attached || !meta.IsStatusConditionTrue(resource.Status.Conditions, resourcev1.AcceptedCondition) {
		return ""
	}
	return resource.Spec.DPUIPs[1]
}

// leaving reports whether a host is being removed from its network, or its DPU has done that by itself.
func leaving(resource *resourcev1.ManagedResource) bool {
	attached := condition(resource, resourcev1.AttachedCondition)
	return attached != nil && slices.Contains([]string{reasonIsolating, reasonIsolated, reasonLeaseExpired, reasonMoving}, attached.Reason)
}

// takeBack an address: once it is withdrawn everywhere it is free.
func (r *publicIPReconciler) takeBack(ctx context.Context, ip *networkfabricv1.PublicIP) (ctrl.Result, error) {
	if ip.Status.NextHop != "" { // speakers have to see that first
		ip.Status.NextHop = ""
		r.withdrawing(ip, true)
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	uses, err := r.stillUses(ctx, ip)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(ip.Status.AnnouncedBy) > 0 || uses {
		r.withdrawing(ip, uses)
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	ip.Status.Allocated, ip.Status.ManagedResource = false, nil
	return ctrl.Result{}, r.offer(ctx, ip)
}

// stillUses reports whether the host that has an address may still send under it: a DPU has the host on its network, and isn't
// known to have got the removal of the address. If the central can't be reached, nothing is known.
func (r *publicIPReconciler) stillUses(ctx context.Context, ip *networkfabricv1.PublicIP) (bool, error) {
	of := ip.Status.ManagedResource
	if of == nil {
		return false, nil
	}
	host := &resourcev1.ManagedResource{}
	switch err := r.Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, host); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get ManagedResource %s/%s: %w", of.Namespace, of.Name, err)
	}
	at := host.Status.LogicalPortReference
	if host.UID != of.UID || !attachedByUs(host) || at == nil {
		return false, nil
	}
	if r.leases.left(host) <= 0 {
		if serves, err := servesOthers(ctx, r, r.leases, host); err != nil || !serves {
			return false, err
		}
	}
	return !r.networks.forgotten(ctx, at, overlay.Address(ip.Spec.IPAddress)), nil
}

func (r *publicIPReconciler) withdrawing(ip *networkfabricv1.PublicIP, used bool) {
	message := "the address is being withdrawn"
	if len(ip.Status.AnnouncedBy) > 0 {
		message += " by the BGP speakers " + strings.Join(ip.Status.AnnouncedBy, ", ")
	}
	if of := ip.Status.ManagedResource; used && of != nil {
		message += fmt.Sprintf("; the DPU of ManagedResource %s may still use it, until its lease ends", of.Name)
	}
	if c := condition(ip, resourcev1.ReadyCondition); c != nil && c.Reason != reasonWithdrawing {
		drop(ip, resourcev1.ReadyCondition) // its time says since when this has been going on
	}
	unmet(ip, resourcev1.ReadyCondition, reasonWithdrawing, message)
}

// write what has changed, unless another client has written since.
func (r *publicIPReconciler) write(ctx context.Context, before, after *networkfabricv1.PublicIP) error {
	if equality.Semantic.DeepEqual(before.Status, after.Status) {
		return nil
	}
	if err := patchStatus(ctx, r.Client, before, after); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of PublicIP %s: %w", after.Name, err)
	}
	now, was := condition(after, resourcev1.ReadyCondition), condition(before, resourcev1.ReadyCondition)
	if now != nil && (was == nil || was.Reason != now.Reason) {
		r.events.Eventf(after, nil, corev1.EventTypeNormal, now.Reason, "Reconcile", "%s", now.Message)
	}
	return nil
}

// firstOf the PublicIPs that a host has: there is one, unless a status was written by hand.
func firstOf(ctx context.Context, c client.Reader, holder types.UID) (*networkfabricv1.PublicIP, error) {
	list := &networkfabricv1.PublicIPList{}
	if err := c.List(ctx, list, client.MatchingFields{byHolder: string(holder)}); err != nil {
		return nil, fmt.Errorf("list the PublicIPs of a host: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	first := slices.MinFunc(list.Items, func(a, b networkfabricv1.PublicIP) int {
		return overlay.Address(a.Spec.IPAddress).Compare(overlay.Address(b.Spec.IPAddress))
	})
	return &first, nil
}
