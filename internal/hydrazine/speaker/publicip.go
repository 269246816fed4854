package speaker

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=publicips,verbs=get;list;watch
// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=publicips/status,verbs=patch

// settleRetry is how often it is checked whether neighbors have got a withdrawal.
const settleRetry = 2 * time.Second

// publicIPs announces each PublicIP with a next hop.
type publicIPs struct {
	client.Client
	live          client.Reader
	name          string // of this speaker
	configuration string
	bgp           BGP
	table         *table
	resumed       <-chan struct{}
}

// Reconcile announces one address, or withdraws it.
func (r *publicIPs) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	select {
	case <-r.resumed:
	case <-ctx.Done():
		return reconcile.Result{}, ctx.Err()
	}
	ip := &networkfabricv1.PublicIP{}
	if err := r.Get(ctx, request.NamespacedName, ip); err != nil {
		if apierrors.IsNotFound(err) {
			err = r.table.withdraw(request.Name)
		}
		return reconcile.Result{}, err
	}
	configured, err := r.configured(ctx, r)
	if err != nil {
		return reconcile.Result{}, err
	}
	want, wanted, err := holdingOf(ip)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the address can't be announced")
	}
	wanted = wanted && configured && r.table.allowed()
	held, holds := r.table.holds(ip.Name)
	named := slices.Contains(ip.Status.AnnouncedBy, r.name)
	switch {
	case wanted && holds && held == want:
		return reconcile.Result{}, r.keep(ctx, ip, named)
	case wanted && !holds && !named:
		return reconcile.Result{}, r.announce(ctx, ip, want)
	default:
		// A name that stands for something else is removed first, also that of a predecessor.
		return r.leave(ctx, ip, named)
	}
}

// configured reports whether there are neighbors.
func (r *publicIPs) configured(ctx context.Context, from client.Reader) (bool, error) {
	configuration := &networkfabricv1.BGPConfiguration{}
	err := from.Get(ctx, client.ObjectKey{Name: r.configuration}, configuration)
	return len(configuration.Spec.Neighbors) > 0, client.IgnoreNotFound(err)
}

// holdingOf a PublicIP, if it is to be announced.
func holdingOf(ip *networkfabricv1.PublicIP) (h holding, wanted bool, err error) {
	if ip.DeletionTimestamp != nil || ip.Status.NextHop == "" {
		return h, false, nil
	}
	address, err := netip.ParseAddr(string(ip.Spec.IPAddress))
	if err != nil {
		return h, false, fmt.Errorf("spec.ipAddress: %w", err)
	}
	nextHop, err := netip.ParseAddr(string(ip.Status.NextHop))
	if err != nil {
		return h, false, fmt.Errorf("status.nextHop: %w", err)
	}
	if address.BitLen() != nextHop.BitLen() {
		return h, false, fmt.Errorf("status.nextHop %s is of another IP version than %s", nextHop, address)
	}
	return holding{uid: ip.UID, route: route{netip.PrefixFrom(address, address.BitLen()), nextHop}}, true, nil
}

// announce writes this speaker's name first. What the server answers was stored together with the name: a client that
// changes the next hop after that sees the name, and waits for its removal.
func (r *publicIPs) announce(ctx context.Context, ip *networkfabricv1.PublicIP, want holding) error {
	if err := r.table.free(ip.Name, want.prefix); err != nil {
		return err
	}
	term := r.table.currentTerm()
	stored, err := r.addName(ctx, ip)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if now, wanted, err := holdingOf(stored); err != nil || !wanted || now != want {
		return nil //nolint:nilerr // it has changed: the cache will say so, and then the name is removed
	}
	return r.table.announce(ip.Name, want, term)
}

// addName adds this speaker's name, beside those of others.
func (r *publicIPs) addName(ctx context.Context, ip *networkfabricv1.PublicIP) (*networkfabricv1.PublicIP, error) {
	mine := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"announcedBy": []any{r.name}}}}
	mine.SetGroupVersionKind(networkfabricv1.GroupVersion.WithKind("PublicIP"))
	mine.SetName(ip.Name)
	mine.SetUID(ip.UID)
	err := r.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(mine), client.FieldOwner(lease.Name(r.name)), client.ForceOwnership)
	if err != nil {
		return nil, fmt.Errorf("add %s to status.announcedBy: %w", r.name, err)
	}
	stored := &networkfabricv1.PublicIP{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(mine.Object, stored); err != nil {
		return nil, fmt.Errorf("read what was stored: %w", err)
	}
	return stored, nil
}

// keep handles a name that seems to be missing. The cache may be stale; but another client may have removed it, and then
// the address has to be withdrawn before it is announced under the name again.
func (r *publicIPs) keep(ctx context.Context, ip *networkfabricv1.PublicIP, named bool) error {
	if named {
		return nil
	}
	now := &networkfabricv1.PublicIP{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(ip), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	if slices.Contains(now.Status.AnnouncedBy, r.name) {
		return nil
	}
	if err := r.table.withdraw(ip.Name); err != nil {
		return err
	}
	return fmt.Errorf("status.announcedBy has lost %s: the address was withdrawn for a moment", r.name)
}

// leave withdraws the address, and removes this speaker's name as soon as no neighbor has its route any more.
func (r *publicIPs) leave(ctx context.Context, ip *networkfabricv1.PublicIP, named bool) (reconcile.Result, error) {
	if err := r.table.withdraw(ip.Name); err != nil || !named {
		return reconcile.Result{}, err
	}
	if wait := r.bgp.Settled(); wait > 0 {
		return reconcile.Result{RequeueAfter: min(wait, settleRetry)}, nil
	}
	before := ip.DeepCopy()
	ip.Status.AnnouncedBy = slices.DeleteFunc(ip.Status.AnnouncedBy, func(name string) bool { return name == r.name })
	err := r.Status().Patch(ctx, ip, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("remove %s from status.announcedBy: %w", r.name, err)
	}
	return reconcile.Result{}, nil
}

// resume announces what a predecessor of the same name announced. Neighbors that still keep its routes must not get the
// end-of-RIB marker before that.
func (r *publicIPs) resume(ctx context.Context) error {
	configured, err := r.configured(ctx, r.live)
	if err != nil || !configured {
		return err
	}
	all := &networkfabricv1.PublicIPList{}
	if err := r.live.List(ctx, all); err != nil {
		return fmt.Errorf("read what was announced before: %w", err)
	}
	term := r.table.currentTerm()
	for i := range all.Items {
		want, wanted, err := holdingOf(&all.Items[i])
		if err != nil || !wanted || !slices.Contains(all.Items[i].Status.AnnouncedBy, r.name) {
			continue
		}
		if err := r.table.announce(all.Items[i].Name, want, term); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "announce again", "publicIP", all.Items[i].Name)
		}
	}
	return nil
}

// seen maps a PublicIP to itself, and notes the time.
func (r *publicIPs) seen(_ context.Context, object client.Object) []reconcile.Request {
	if object.(*networkfabricv1.PublicIP).Status.NextHop != "" {
		r.table.noteWanted(object.GetName())
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// every PublicIP.
func (r *publicIPs) every(ctx context.Context) []reconcile.Request {
	all := &networkfabricv1.PublicIPList{}
	if err := r.List(ctx, all); err != nil {
		return nil // the cache has ended
	}
	requests := make([]reconcile.Request, 0, len(all.Items))
	for i := range all.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
	}
	return requests
}
