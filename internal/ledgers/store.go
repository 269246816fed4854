package ledgers

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
)

// AnyHome stands for a management cluster that isn't known.
const AnyHome = "*"

// Store reads and writes the ledgers of one management cluster.
type Store struct {
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Paused reports whether an owner, given its newest metadata, is paused. It is called when a create is about to start, so
	// it reads past the cache. Optional.
	Paused func(ctx context.Context, owner client.Object) (bool, error)
	// Home is the UID of this management cluster's Namespace kube-system. It is read if it isn't given.
	Home string
	// OnlyLooks: only plans are made, and nothing is written.
	OnlyLooks bool

	home sync.Mutex
}

// HomeOf is the UID of this management cluster, which never changes.
func (s *Store) HomeOf(ctx context.Context) (string, error) {
	s.home.Lock()
	defer s.home.Unlock()
	if s.Home != "" {
		return s.Home, nil
	}
	system := &metav1.PartialObjectMetadata{}
	system.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := s.Live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system)
	if s.OnlyLooks && apierrors.IsForbidden(err) { // a plan may lack permission to read it
		return AnyHome, nil
	}
	if err != nil {
		return "", &fault.Error{Class: fault.Transient, Op: "read which management cluster this is", Err: err}
	}
	s.Home = string(system.UID)
	return s.Home, nil
}

// Of reads the ledger of an object; nil if it has none.
func Of(ctx context.Context, c client.Reader, scheme *runtime.Scheme, object client.Object) (*ledgerv1.Ledger, error) {
	kind, err := apiutil.GVKForObject(ObjectOf(object), scheme)
	if err != nil {
		return nil, err
	}
	l := &ledgerv1.Ledger{}
	name := types.NamespacedName{Namespace: object.GetNamespace(), Name: ledgerv1.Name(kind.Kind, object.GetName())}
	if err := c.Get(ctx, name, l); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, &fault.Error{Class: fault.Transient, Op: "read ledger " + name.String(), Err: err}
	}
	return l, nil
}

// Lacking are the IDs that spec or status of an owner show and its ledger doesn't have.
func Lacking(l *ledgerv1.Ledger, owner Owner) []ledgerv1.OutsideID {
	return slices.DeleteFunc(owner.OutsideIDs(), func(o ledgerv1.OutsideID) bool {
		return l != nil && (l.Names(o) || slices.Contains(l.Spec.Released, o.String()) || closes(l, owner))
	})
}

// closes reports whether a ledger proves that everything of an owner is gone.
func closes(l *ledgerv1.Ledger, owner client.Object) bool {
	return l.Spec.Closed && l.IsOf(owner.GetUID())
}

// OwnsNothing reports whether nothing of an owner would have to be deleted: then it can be released without credentials, or
// whatever else a graph needs. What spec or status show and the ledger lacks counts: that ledger is an older one, or lost.
func OwnsNothing(ctx context.Context, c client.Reader, scheme *runtime.Scheme, owner Owner) (bool, error) {
	l, err := Of(ctx, c, scheme, owner)
	if err != nil {
		return false, err
	}
	return !l.Owns() && len(Lacking(l, owner)) == 0, nil
}

// OwnsNothing reads from the cache. For an owner that is being deleted that isn't enough to release it.
func (s *Store) OwnsNothing(ctx context.Context, owner Owner) (bool, error) {
	nothing, err := OwnsNothing(ctx, s.Client, s.Client.Scheme(), owner)
	if err != nil || !nothing || owner.GetDeletionTimestamp() == nil {
		return nothing, err
	}
	return OwnsNothing(ctx, s.Live, s.Client.Scheme(), owner)
}

// NothingToLookFor reports whether an owner that owns nothing has no ledger, or one which proves that all is gone. Any other may be an
// older one, from before something was created that carries the owner's ID: a deletion searches for that, if it can log in.
func (s *Store) NothingToLookFor(ctx context.Context, owner Owner) (bool, error) {
	l, err := Of(ctx, s.Live, s.Client.Scheme(), owner)
	return l == nil || closes(l, owner), err
}
