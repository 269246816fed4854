package machine

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
)

// Whoever may make an NvidiaBMMMachine may write any ledger into it.
func TestSecretOf_isNeverOneOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ledger := `{"object":"%s/m","owner":"abc","credentials":"victim/bmm","entries":{}}`
	object := &infrav1.NvidiaBMMMachine{ObjectMeta: metav1.ObjectMeta{
		Name: "m", Namespace: "attacker", DeletionTimestamp: &metav1.Time{Time: time.Now()},
		Annotations: map[string]string{graph.LedgerAnnotation: fmt.Sprintf(ledger, "attacker")},
	}}
	g.Expect(secretOf(owners{}, object)).To(Equal(types.NamespacedName{Namespace: "attacker", Name: "bmm"}))

	object.DeletionTimestamp = nil
	_, err := secretOf(owners{}, object)
	g.Expect(err).To(HaveOccurred(), "nothing is made with what the ledger names")
}
