package cluster

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// A Cluster is written again right after its deletion: the cache may still have what was made for the one before.
func TestMadeOn_isNotWhatOnlyTheCacheHas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(krakev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(ledgerv1.AddToScheme(krakev1.LedgerGroup)(scheme)).To(Succeed())
	of := metav1.ObjectMeta{Namespace: "blue", Name: "cluster-demo"}
	full := &ledgerv1.Ledger{ObjectMeta: of, Spec: ledgerv1.LedgerSpec{OwnerUID: "before", Entries: []ledgerv1.Entry{
		{Key: infrastructureKey, State: ledgerv1.Bound, ID: "1", Params: map[string]string{cloudParam: "Cloud/a"}},
	}}}
	empty := &ledgerv1.Ledger{ObjectMeta: of, Spec: ledgerv1.LedgerSpec{OwnerUID: "before", Closed: true}}
	server := func(l *ledgerv1.Ledger) client.Client {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(l).Build()
	}
	c := &krakev1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "demo", UID: "after"}}
	g.Expect(MadeOn(t.Context(), server(full), server(empty), c)).To(BeNil())
	_, err := MadeOn(t.Context(), server(full), server(full), c)
	g.Expect(err).To(MatchError(ContainSubstring("ledger cluster-demo is that of an earlier Cluster of this name")))
	takesOver := map[string]string{ledgerv1.TakeOverAnnotation: "true"}
	for _, is := range []metav1.ObjectMeta{{UID: "before"}, {UID: "after", Annotations: takesOver}} {
		is.Namespace, is.Name = c.Namespace, c.Name
		g.Expect(MadeOn(t.Context(), server(full), server(full), &krakev1.Cluster{ObjectMeta: is})).To(
			HaveValue(Equal(krakev1.CloudReference{Kind: krakev1.KindCloud, Name: "a"})))
	}
}
