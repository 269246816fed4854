package machine

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// A client that may write a ledger may write any name into it.
func TestSecretOf_isNeverOneOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := &infrav1.NvidiaBMMMachine{ObjectMeta: metav1.ObjectMeta{
		Name: "m", Namespace: "attacker", DeletionTimestamp: &metav1.Time{Time: time.Now()},
	}}
	ledger := &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "attacker", Name: ledgerv1.Name("NvidiaBMMMachine", "m")},
		Spec:       ledgerv1.LedgerSpec{Credentials: []string{"victim/bmm"}},
	}
	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(ledgerv1.AddToScheme(ledgerv1.GroupBMM)(scheme)).To(Succeed())
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(ledger).Build()}
	g.Expect(r.secretOf(t.Context(), owners{}, object)).To(Equal(types.NamespacedName{Namespace: "attacker", Name: "bmm"}))

	object.DeletionTimestamp = nil
	_, err := r.secretOf(t.Context(), owners{}, object)
	g.Expect(err).To(HaveOccurred(), "nothing is made with what the ledger names")
}
