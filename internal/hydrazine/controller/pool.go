package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// pool gives public addresses to hosts.
type pool struct {
	client.Client
	// live reads past the cache, which may not show yet what was assigned concurrently.
	live client.Reader

	mutex sync.Mutex
	// given are the addresses that were given to hosts, by the UIDs of these, until the cache knows.
	given map[types.UID]*networkfabricv1.PublicIP
}

// of returns a host's address, or nil if none is free.
func (p *pool) of(ctx context.Context, resource *resourcev1.ManagedResource) (*networkfabricv1.PublicIP, error) {
	p.mutex.Lock() // the cache is compared with what was given
	defer p.mutex.Unlock()
	has, err := firstOf(ctx, p, resource.UID)
	if err != nil {
		return nil, err
	}
	if has != nil {
		delete(p.given, resource.UID)
		return has, nil
	}
	given := p.given[resource.UID]
	if given == nil {
		return nil, nil
	}
	known := &networkfabricv1.PublicIP{}
	if err := p.Get(ctx, client.ObjectKeyFromObject(given), known); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get PublicIP %s: %w", given.Name, err)
	}
	if isKnown(given, known) {
		delete(p.given, resource.UID) // the host has had it, and doesn't have it any more
		return nil, nil
	}
	return given, nil
}

// allocate an address for a host that has none, or return nil if none is free: when one is freed, we are enqueued.
func (p *pool) allocate(ctx context.Context, resource *resourcev1.ManagedResource) (*networkfabricv1.PublicIP, error) {
	p.mutex.Lock() // one host is given an address at a time
	defer p.mutex.Unlock()
	known := &networkfabricv1.PublicIPList{}
	if err := p.List(ctx, known, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list PublicIPs: %w", err)
	}
	p.forget(known.Items)
	if len(p.free(known.Items, resource)) == 0 {
		return nil, nil
	}
	for range attempts {
		ip, err := p.choose(ctx, resource)
		if !apierrors.IsConflict(err) {
			return ip, err
		}
	}
	return nil, errors.New("no PublicIP could be assigned, because other clients changed the PublicIPs at the same time: it is tried again")
}

// attempts to assign an address that another client changes meanwhile.
const attempts = 3

// choose a free address and give it to a host, or return nil if none is free. A conflict means that one was free and has been
// changed.
func (p *pool) choose(ctx context.Context, resource *resourcev1.ManagedResource) (*networkfabricv1.PublicIP, error) {
	all := &networkfabricv1.PublicIPList{}
	if err := p.live.List(ctx, all); err != nil {
		return nil, fmt.Errorf("list PublicIPs: %w", err)
	}
	for i := range all.Items {
		if of := all.Items[i].Status.ManagedResource; of != nil && of.UID == resource.UID {
			return &all.Items[i], nil
		}
	}
	var failed error
	for _, ip := range p.free(all.Items, resource) {
		if dpus, err := WithFabricIP(ctx, p, ip.Spec.IPAddress); err != nil {
			return nil, err
		} else if len(dpus) > 0 {
			continue // it is the fabric's by mistake, and says so
		}
		given, err := p.give(ctx, ip, resource)
		switch {
		case err == nil:
			p.given[resource.UID] = given
			return given, nil
		case apierrors.IsConflict(err):
			return nil, err
		case !apierrors.IsNotFound(err):
			failed = errors.Join(failed, fmt.Errorf("give PublicIP %s to ManagedResource %s: %w", ip.Name, resource.Name, err))
		}
	}
	return nil, failed
}

func (p *pool) give(
	ctx context.Context, ip *networkfabricv1.PublicIP, resource *resourcev1.ManagedResource,
) (*networkfabricv1.PublicIP, error) {
	given := ip.DeepCopy()
	given.Status.Allocated = true
	given.Status.ManagedResource = &networkfabricv1.ManagedResourceReference{
		Namespace: resource.Namespace, Name: resource.Name, UID: resource.UID,
	}
	// In the same write: a client that waits for Ready means with the new owner.
	set(given, resourcev1.ReadyCondition, metav1.ConditionUnknown, reasonPending, "not announced yet: the address was just assigned to ManagedResource "+resource.Name)
	return given, patchStatus(ctx, p.Client, ip, given)
}

// forget what the cache has by now, whatever has happened to it since.
func (p *pool) forget(known []networkfabricv1.PublicIP) {
	byName := map[string]*networkfabricv1.PublicIP{}
	for i := range known {
		byName[known[i].Name] = &known[i]
	}
	maps.DeleteFunc(p.given, func(_ types.UID, ip *networkfabricv1.PublicIP) bool { return isKnown(ip, byName[ip.Name]) })
}

// isKnown reports whether the cache, which has this under the name of an address that was given, knows that it was, or that it is
// gone.
func isKnown(given, cached *networkfabricv1.PublicIP) bool {
	if cached == nil || cached.UID != given.UID {
		return true
	}
	newer, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, given.ResourceVersion)
	return err == nil && newer >= 0
}

// free are the addresses that a host can be given, in their order as numbers.
func (p *pool) free(all []networkfabricv1.PublicIP, resource *resourcev1.ManagedResource) []*networkfabricv1.PublicIP {
	taken := map[types.UID]bool{}
	for _, ip := range p.given {
		taken[ip.UID] = true
	}
	twins := map[resourcev1.IPAddress][]networkfabricv1.PublicIP{}
	for i := range all {
		twins[all[i].Spec.IPAddress] = append(twins[all[i].Spec.IPAddress], all[i])
	}
	var found []*networkfabricv1.PublicIP
	for i := range all {
		ip := &all[i]
		if !ip.Status.Allocated && ip.Status.ManagedResource == nil && len(ip.Status.AnnouncedBy) == 0 && !taken[ip.UID] &&
			ip.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(ip, networkfabricv1.PublicIPFinalizer) &&
			sameVersion(ip, resource) && namesakeIP(ip, twins[ip.Spec.IPAddress]) == nil {
			found = append(found, ip)
		}
	}
	slices.SortFunc(found, func(a, b *networkfabricv1.PublicIP) int {
		return overlay.Address(a.Spec.IPAddress).Compare(overlay.Address(b.Spec.IPAddress))
	})
	return found
}
