package speaker

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

// A create can't be limited to a name, and a speaker's name is its machine's.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=bedplate-hydrazine-speaker,resources=leases,verbs=get;create;update

const (
	// renewTimeout bounds an attempt to renew the Lease.
	renewTimeout = 5 * time.Second
	// renewRetry is after how long a renewal is tried again.
	renewRetry = 2 * time.Second
	// expiryInterval is how often it is checked whether the last word has expired.
	expiryInterval = 250 * time.Millisecond
)

// heartbeat renews this speaker's Lease, and withdraws everything in time if it can't.
type heartbeat struct {
	client        client.Client
	live          client.Reader
	clock         clock.Clock
	name          string // of this speaker
	namespace     string
	configuration string
	bgp           BGP
	table         *table
	resume        func(context.Context) error // is called after the first renewal
	resumed       chan struct{}               // is closed then
	again         func()                      // is called when announcements are allowed again

	memory time.Duration // of neighbors, by the configuration and the sessions
	since  time.Time     // since when that is so
}

// NeedLeaderElection is false: there is no leader.
func (h *heartbeat) NeedLeaderElection() bool { return false }

// Start runs until the context ends. The Lease stays then: neighbors keep the routes of a speaker that is being
// restarted.
func (h *heartbeat) Start(ctx context.Context) error {
	go wait.UntilWithContext(ctx, h.expire, expiryInterval)
	log := ctrl.LoggerFrom(ctx).WithName("lease")
	for ctx.Err() == nil {
		next := lease.Interval
		if err := h.beat(ctx); err != nil {
			log.Error(err, "renew the Lease")
			next = renewRetry
		}
		select {
		case <-ctx.Done():
		case <-h.clock.After(next):
		}
	}
	return nil
}

func (h *heartbeat) expire(ctx context.Context) {
	withdrawn, err := h.table.expire()
	log := ctrl.LoggerFrom(ctx).WithName("lease")
	if err != nil {
		log.Error(err, "withdraw what others may count as free")
	}
	if withdrawn > 0 {
		log.Info("The Lease can't be renewed, and others may soon count this speaker as silent: everything is withdrawn",
			"publicIPs", withdrawn)
	}
}

// beat renews the Lease once. The time before that counts, since the server may have stored it at once.
func (h *heartbeat) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	if err := h.readConfiguration(ctx); err != nil {
		return err
	}
	now := h.clock.Now()
	before, memory, err := h.renew(ctx, now)
	if err != nil {
		return err
	}
	last := lease.LastWord(memory)
	again, err := h.table.allow(now.Add(last))
	if err != nil {
		return err
	}
	lastWord.Set(float64(now.Add(last).Unix()))
	select {
	case <-h.resumed:
		if again {
			h.again()
		}
		return nil
	default:
	}
	if now.Sub(before) < last { // or else the manager may be about to reassign what the names stand for
		if err := h.resume(ctx); err != nil {
			return err
		}
	}
	close(h.resumed)
	return nil
}

// readConfiguration reads for how long neighbors keep this speaker's routes. It is read live, as by those that count its
// silence. A session is reopened some time after the configuration has changed, or isn't, as when a password is missing.
func (h *heartbeat) readConfiguration(ctx context.Context) error {
	configuration := &networkfabricv1.BGPConfiguration{}
	err := h.live.Get(ctx, client.ObjectKey{Name: h.configuration}, configuration)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read BGPConfiguration %s: %w", h.configuration, err)
	}
	if memory := max(lease.Memory(configuration.Spec), h.bgp.Memory()); memory != h.memory {
		h.memory, h.since = memory, h.clock.Now()
	}
	return nil
}

// remember returns the memory to write into the Lease. A longer one counts until it is over: a neighbor may have it from a session
// that has ended, or from this speaker's predecessor.
func (h *heartbeat) remember(recorded time.Duration, now time.Time) time.Duration {
	if h.memory < recorded && now.Sub(h.since) <= recorded {
		return recorded
	}
	return h.memory
}

// renew the Lease, and return when that was done before, the zero time if never, and the memory that it speaks of now.
func (h *heartbeat) renew(ctx context.Context, now time.Time) (before time.Time, memory time.Duration, err error) {
	l := &coordinationv1.Lease{}
	err = h.live.Get(ctx, client.ObjectKey{Namespace: h.namespace, Name: lease.Name(h.name)}, l)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return before, 0, fmt.Errorf("read the Lease: %w", err)
	}
	if l.Spec.RenewTime != nil {
		before = l.Spec.RenewTime.Time
	}
	l.Namespace, l.Name = h.namespace, lease.Name(h.name)
	l.Spec.HolderIdentity = &h.name
	memory = h.remember(lease.Recorded(l), now)
	l.Spec.LeaseDurationSeconds = ptr.To(lease.Seconds(memory))
	l.Spec.RenewTime = &metav1.MicroTime{Time: now}
	if missing {
		l.Spec.AcquireTime = l.Spec.RenewTime
		err = h.client.Create(ctx, l)
	} else {
		err = h.client.Update(ctx, l)
	}
	if err != nil {
		return before, 0, fmt.Errorf("write the Lease: %w", err)
	}
	return before, memory, nil
}
