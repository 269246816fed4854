package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// An operator says that it is ours, and the ledger has it already.
func TestAdopt_provesWhatTheLedgerHas(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("lonely").Proven = "" }) // written by an earlier version
	f.service.things["id-1"].tag = graph.Tag{}
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "lonely", Kind: "thing", ID: "id-1", Own: true})).To(Succeed())
	f.Expect(f.ledger().Entry("lonely").Proven).To(Equal("id-1"))
}

// What another object's ledger has as its own.
func TestAdopt_refusesWhatAnotherLedgerHas(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	second := &bmmv1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.name.Namespace, Name: "second", UID: "second", Finalizers: []string{finalizer},
	}}
	f.Expect(f.client.Create(t.Context(), second)).To(Succeed())
	e := f.engine()
	g, err := e.New(t.Context(), second, []string{"any"}, f.service.kind())
	f.Expect(err).NotTo(HaveOccurred())
	graph.Add(g, f.service.kind(), f.want("lonely"))
	_, err = g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(e.AdoptInto(t.Context(), second, ledgers.Resource{Key: "net", Kind: "thing", ID: "id-1", Own: true})).NotTo(Succeed())
}
