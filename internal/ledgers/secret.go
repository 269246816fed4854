package ledgers

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
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
