package ledgers

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

var forsaken = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "bedplate_ledgers_without_owner",
	Help: "Ledgers that name something outside while their object is gone: bedplate orphans lists it.",
}, []string{"kind"})

func init() { metrics.Registry.MustRegister(forsaken) }

// Keeper maintains the ledgers whose objects are gone: it counts those that still name something outside, and releases those that
// don't. It is part of a manager, and runs while that is leader.
type Keeper struct {
	*Store
	// Poll is the poll interval of outside resources: ten times slower is often enough here.
	Poll time.Duration
	// Owners are lists of the kinds whose ledgers are maintained.
	Owners []client.ObjectList

	told map[types.UID]bool
}

// Start polls until ctx ends. A slow poll is enough: a ledger is deleted together with its owner.
func (k *Keeper) Start(ctx context.Context) error {
	k.told = map[types.UID]bool{}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Can't look for ledgers whose objects are gone")
		}
	}, 10*k.Poll)
	forsaken.Reset()
	return nil
}

func (k *Keeper) look(ctx context.Context) error {
	home, err := k.HomeOf(ctx)
	if err != nil {
		return err
	}
	// Listed before the objects: an owner exists before its ledger.
	all := &ledgerv1.LedgerList{}
	if err := k.Client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the ledgers: %w", err)
	}
	living, counts, kinds, err := k.living(ctx)
	if err != nil {
		return err
	}
	for i := range all.Items {
		l := &all.Items[i]
		kind := l.Spec.Owner.Kind
		if _, ours := counts[kind]; !ours || l.Spec.Home != home || l.IsOf(living[ownerOf(l)]) {
			continue
		}
		if !l.Owns() {
			if err := k.release(ctx, l.DeepCopy(), kinds[kind]); err != nil {
				return err
			}
			continue
		}
		counts[kind]++
		k.tell(ctx, l)
	}
	for kind, n := range counts {
		forsaken.WithLabelValues(kind).Set(float64(n))
	}
	return nil
}

// owner names an object that has a ledger.
type owner struct{ kind, namespace, name string }

func ownerOf(l *ledgerv1.Ledger) owner {
	return owner{l.Spec.Owner.Kind, l.Namespace, l.Spec.Owner.Name}
}

// living are the UIDs of the existing objects; the counts have each of their kinds, at 0.
func (k *Keeper) living(ctx context.Context) (map[owner]types.UID, map[string]int, map[string]schema.GroupVersionKind, error) {
	living, counts, kinds := map[owner]types.UID{}, map[string]int{}, map[string]schema.GroupVersionKind{}
	for _, kind := range k.Owners {
		list := kind.DeepCopyObject().(client.ObjectList)
		known, err := apiutil.GVKForObject(list, k.Client.Scheme())
		if err == nil {
			err = k.Client.List(ctx, list, client.UnsafeDisableDeepCopy)
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("list the objects that have ledgers: %w", err)
		}
		known.Kind = known.Kind[:len(known.Kind)-len("List")]
		counts[known.Kind], kinds[known.Kind] = 0, known
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			living[owner{known.Kind, object.GetNamespace(), object.GetName()}] = object.GetUID()
			return nil
		})
	}
	return living, counts, kinds, nil
}

// release a ledger that names nothing outside any more. The garbage collector deletes it.
func (k *Keeper) release(ctx context.Context, l *ledgerv1.Ledger, kind schema.GroupVersionKind) error {
	if !controllerutil.RemoveFinalizer(l, ledgerv1.Finalizer) {
		return nil
	}
	owner := &metav1.PartialObjectMetadata{}
	owner.SetGroupVersionKind(kind)
	err := k.Live.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: l.Spec.Owner.Name}, owner)
	if err == nil && l.IsOf(owner.UID) { // the cache is stale
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("look for the object of ledger %s/%s: %w", l.Namespace, l.Name, err)
	}
	err = k.Client.Update(ctx, l)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (k *Keeper) tell(ctx context.Context, l *ledgerv1.Ledger) {
	if k.told[l.UID] {
		return
	}
	k.told[l.UID] = true
	ctrl.LoggerFrom(ctx).Info("An object is gone while something of it still exists outside: see `bedplate orphans`",
		"ledger", client.ObjectKeyFromObject(l), "ownerID", l.Spec.OwnerID)
}
