package ledgers

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
)

// SecretOf names the credentials in the ledger of an owner that has one login; the name is empty if there is no ledger. It is
// never another namespace's Secret, whatever the ledger says.
func SecretOf(owner client.Object, l *ledgerv1.Ledger) types.NamespacedName {
	secret := types.NamespacedName{Namespace: owner.GetNamespace()}
	if l != nil && len(l.Spec.Credentials) > 0 {
		_, secret.Name, _ = strings.Cut(l.Spec.Credentials[0], string(types.Separator))
	}
	return secret
}

// Moved reports whether the ledger names other credentials or another account, until it is written.
func (l *Ledger) Moved() bool {
	return !slices.Equal(l.Stored.Spec.Credentials, l.Credentials) || l.Stored.Spec.Account != l.Account
}

// Enter says which account the credentials lead to. It fails if what was made for the owner is in another one: there it looks gone.
func (l *Ledger) Enter(account string) error {
	if l.Account != "" && l.Account != account && (l.Stored.Owns() || len(Lacking(l.Stored, l.owner)) > 0) {
		return &fault.Error{Class: fault.Credentials, Err: fmt.Errorf(
			"secret %s leads to account %s, and what was made for this object is in account %s; nothing is touched. Put credentials of that "+
				"account into the Secret", strings.Join(l.Credentials, ", "), account, l.Account)}
	}
	l.Account = account
	return nil
}
