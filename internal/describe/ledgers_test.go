package describe

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// A cluster may have objects of several systems, whose ledgers are in groups of their own.
func TestCluster_readsTheLedgersOfAllSystems(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ledger := func(group, name, id string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/" + ledgerv1.Version, "kind": "Ledger", "metadata": map[string]any{"namespace": "red", "name": name},
			"spec": map[string]any{"entries": []any{map[string]any{"key": "box", "kind": "box", "id": id, "state": "Bound"}}},
		}}
	}
	c := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithObjects(
		ledger("toys.bedplate.dev", "toy-a", "1"), ledger("bears.bedplate.dev", "bear-a", "2"),
	).Build()
	byName := map[string]*ledgerv1.Ledger{}
	for _, group := range []string{"toys.bedplate.dev", "bears.bedplate.dev"} {
		g.Expect(readLedgers(t.Context(), c, group, "red", byName)).To(Succeed())
		g.Expect(readLedgers(t.Context(), c, group, "blue", byName)).To(Succeed())
	}
	g.Expect(ledgers.Resources(byName["toy-a"])).To(ConsistOf(ledgers.Resource{Key: "box", Kind: "box", ID: "1", Own: true}))
	g.Expect(ledgers.Resources(byName["bear-a"])).To(ConsistOf(HaveField("ID", "2")))
	g.Expect(byName).To(HaveLen(2))
}
