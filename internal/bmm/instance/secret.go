package instance

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/graph"
)

// SecretOf names the credentials that an owner's instance was made with; the name is empty where there is no ledger. It is
// never another namespace's Secret, whatever the ledger says: who may write the owner may not read that one.
func SecretOf(owner client.Object) types.NamespacedName {
	_, name, _ := strings.Cut(graph.Credentials(owner), string(types.Separator))
	return types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}
}
