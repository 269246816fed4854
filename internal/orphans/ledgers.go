package orphans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Ledgers of all namespaces.
type Ledgers struct {
	byName map[types.NamespacedName]*ledgerv1.Ledger
	// claimed are those whose objects exist, or may.
	claimed map[*ledgerv1.Ledger]bool
	// home is this management cluster; empty if that can't be read.
	home string
	// global is the namespace with the Secrets of objects that are in none; empty if there are none such.
	global string
}

// readLedgers reads all. A management cluster that doesn't know ledgers has none.
func readLedgers(ctx context.Context, c client.Reader) (Ledgers, error) {
	all := Ledgers{byName: map[types.NamespacedName]*ledgerv1.Ledger{}, claimed: map[*ledgerv1.Ledger]bool{}}
	list := &ledgerv1.LedgerList{}
	if err := c.List(ctx, list); err != nil && !meta.IsNoMatchError(err) {
		return all, fmt.Errorf("list the ledgers of all namespaces: %w", err)
	}
	for i := range list.Items {
		all.byName[client.ObjectKeyFromObject(&list.Items[i])] = &list.Items[i]
	}
	system := &metav1.PartialObjectMetadata{}
	system.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	switch err := c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); {
	case err == nil:
		all.home = string(system.UID)
	case !apierrors.IsForbidden(err):
		return all, fmt.Errorf("read which management cluster this is: %w", err)
	}
	return all, nil
}

// Of is the ledger of an object, or of an earlier one of its name; nil if there is none.
func (a Ledgers) Of(kind string, o client.Object) *ledgerv1.Ledger {
	return a.byName[types.NamespacedName{Namespace: o.GetNamespace(), Name: ledgerv1.Name(kind, o.GetName())}]
}

// Login is the first of the Secrets in a ledger, which may be nil. It is one of the ledger's namespace, or of that with the Secrets of objects
// that are in none; never another tenant's, whatever the ledger says.
func (a Ledgers) Login(ledger *ledgerv1.Ledger) types.NamespacedName {
	if ledger == nil {
		return types.NamespacedName{}
	}
	login := ledgers.SecretOf(ledger, ledger)
	global := types.NamespacedName{Namespace: a.global, Name: login.Name}
	if a.global != "" && slices.Index(ledger.Spec.Credentials, global.String()) == 0 {
		return global
	}
	return login
}

func (a Ledgers) claimOf(kind *OwnerKind, h Holder) living {
	name := client.ObjectKeyFromObject(h)
	l := living{
		kind: kind, name: kind.Name + " " + name.String(), namespace: name.Namespace, secret: h.Secret,
		ledger: map[string]ledgers.Resource{},
	}
	if ledger := a.Of(kind.Name, h); ledger != nil { // also that of an earlier object of its name, which this one may take over
		a.claimed[ledger] = true
		l.fill(ledger)
	} else if shown := h.OutsideIDs(); len(shown) > 0 {
		l.damage = fmt.Errorf("its ledger is lost, and its status shows %s", shown[0])
	}
	text, err := json.Marshal(h.Spec)
	if l.damage != nil {
		text, err = json.Marshal([]any{h.Spec, h.OutsideIDs()})
	}
	l.text, l.damage = string(text), errors.Join(l.damage, err)
	return l
}

func (l *living) fill(ledger *ledgerv1.Ledger) {
	l.owner = ledger.Spec.OwnerID
	for _, r := range ledgers.Resources(ledger) {
		l.ledger[r.Key] = r
	}
}

// left are the ledgers that no object claims. Objects of a kind that can't be read may exist; and unless a ledger certainly
// belongs to this management cluster, its object isn't certainly gone.
func (a Ledgers) left(owners []*OwnerKind, unread map[*OwnerKind]error) (all []living) {
	for _, ledger := range a.byName {
		i := slices.IndexFunc(owners, func(k *OwnerKind) bool { return k.Name == ledger.Spec.Owner.Kind })
		if a.claimed[ledger] || i < 0 || ledger.Spec.Closed {
			continue
		}
		owner := ledger.Spec.Owner
		l := living{
			kind: owners[i], name: fmt.Sprintf("%s %s/%s", owner.Kind, ledger.Namespace, owner.Name), namespace: ledger.Namespace,
			ledger: map[string]ledgers.Resource{},
		}
		if a.home != "" && ledger.Spec.Home == a.home && unread[owners[i]] == nil {
			l.forsaken = ledger
		}
		l.secret = a.Login(ledger)
		l.fill(ledger)
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b living) int { return strings.Compare(a.name, b.name) })
	return all
}
