package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// LoginOf names the Secret that a ledger says its owner logs in with: one of its namespace, or the default one. The name is empty if there
// is no ledger.
func LoginOf(byDefault types.NamespacedName, owner client.Object, l *ledgerv1.Ledger) types.NamespacedName {
	if l != nil && slices.Contains(l.Spec.Credentials, byDefault.String()) {
		return byDefault
	}
	return ledgers.SecretOf(owner, l)
}
