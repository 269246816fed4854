package ledgers

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/metricstest"
)

func ledgerOf(name string, uid types.UID, home string, entries ...ledgerv1.Entry) *ledgerv1.Ledger {
	return &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "blue", Name: ledgerv1.Name("NvidiaBMMMachine", name), UID: "ledger-of-" + uid, Finalizers: []string{ledgerv1.Finalizer},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: bmmv1.GroupVersion.String(), Kind: "NvidiaBMMMachine", Name: name, UID: uid}},
		},
		Spec: ledgerv1.LedgerSpec{Owner: ledgerv1.Owner{Kind: "NvidiaBMMMachine", Name: name}, Home: home, Entries: entries},
	}
}

// Not parallel: the metric is the process's own.
func TestKeeper_countsWhatOutlivesItsObjectAndLetsTheRestGo(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(bmmv1.AddToScheme(scheme)).To(Succeed())
	g.Expect(ledgerv1.AddToScheme(ledgerv1.GroupBMM)(scheme)).To(Succeed())
	bound := ledgerv1.Entry{Key: "instance", State: ledgerv1.Bound}
	refused := ledgerv1.Entry{Key: "instance", State: ledgerv1.Refused, At: new(metav1.Now())}
	living := &bmmv1.NvidiaBMMMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "lives", UID: "lives"}}
	all := map[string]*ledgerv1.Ledger{
		"of a living object":              ledgerOf("lives", "lives", "here", bound),
		"that outlives its object":        ledgerOf("gone", "gone", "here", bound),
		"that has nothing left":           ledgerOf("empty", "empty", "here", refused),
		"of another management cluster":   ledgerOf("moving", "moving", "there", bound),
		"of a living object, and refused": ledgerOf("lives-too", "lives-too", "here", refused),
	}
	second := living.DeepCopy()
	second.Name, second.UID = "lives-too", "lives-too"
	objects := []client.Object{living, second}
	for _, l := range all {
		objects = append(objects, l)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	k := &Keeper{
		Store: &Store{Client: c, Live: c, Home: "here"}, Poll: time.Hour,
		Owners: []client.ObjectList{&bmmv1.NvidiaBMMMachineList{}}, told: map[types.UID]bool{},
	}
	g.Expect(k.look(t.Context())).To(Succeed())
	values := metricstest.ValuesOf(t, metrics.Registry, "bedplate_ledgers_without_owner")
	g.Expect(values).To(HaveLen(1))
	g.Expect(values[0].GetGauge().GetValue()).To(Equal(1.0))
	for what, l := range all {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(l), l)).To(Succeed())
		g.Expect(l.Finalizers).To(HaveLen(map[bool]int{true: 0, false: 1}[what == "that has nothing left"]), what)
	}
}

// Another client has removed the references, and no reconcile restores them: the object is gone. The ledger says itself whose it is.
// Not parallel: the metric is the process's own.
func TestKeeper_knowsWhoseALedgerWithoutReferencesIs(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(bmmv1.AddToScheme(scheme)).To(Succeed())
	g.Expect(ledgerv1.AddToScheme(ledgerv1.GroupBMM)(scheme)).To(Succeed())
	living := &bmmv1.NvidiaBMMMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "lives", UID: "lives"}}
	bound := ledgerv1.Entry{Key: "instance", State: ledgerv1.Bound}
	gone, empty, lives := ledgerOf("gone", "gone", "here", bound), ledgerOf("empty", "empty", "here"), ledgerOf("lives", "lives", "here", bound)
	for _, l := range []*ledgerv1.Ledger{gone, empty, lives} {
		l.Spec.OwnerUID, l.OwnerReferences = string(l.OwnerReferences[0].UID), nil
	}
	unsaid := ledgerOf("unsaid", "unsaid", "here", bound) // as an operator may have written it
	unsaid.OwnerReferences = nil
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(living, gone, empty, lives, unsaid).Build()
	k := &Keeper{
		Store: &Store{Client: c, Live: c, Home: "here"}, Poll: time.Hour,
		Owners: []client.ObjectList{&bmmv1.NvidiaBMMMachineList{}}, told: map[types.UID]bool{},
	}
	g.Expect(k.look(t.Context())).To(Succeed())
	g.Expect(metricstest.ValuesOf(t, metrics.Registry, "bedplate_ledgers_without_owner")[0].GetGauge().GetValue()).To(Equal(2.0), "what is gone, and what doesn't say whose it is")
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(empty), empty)).To(Succeed())
	g.Expect(empty.Finalizers).To(BeEmpty(), "nothing keeps it, nor its namespace")
}
