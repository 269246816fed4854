package controller

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=fabricpolicies,verbs=get;list;watch

// underlayAge is how long the address of a deleted DPU may still be kept from hosts. It isn't urgent: removing it is a change
// for all DPUs, and often it comes back, with another host.
const underlayAge = time.Minute

// underlays are the own addresses of all DPUs, sorted. Every group has to know them, and finding them means listing all hosts.
// So they are remembered until there is a new one.
type underlays struct {
	client.Reader
	now     func() time.Time
	changed atomic.Bool

	mutex  sync.Mutex
	known  []netip.Addr
	looked time.Time
}

// all of them. They must not be changed.
func (u *underlays) all(ctx context.Context) ([]netip.Addr, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	changed := u.changed.Swap(false) // before the list: what changes meanwhile is listed again
	now := u.now()
	if !changed && now.Sub(u.looked) < underlayAge {
		return u.known, nil
	}
	u.looked = time.Time{}
	known, err := overlay.Underlay(ctx, u.Reader)
	if err == nil {
		u.known, u.looked = known, now
	}
	return known, err
}
