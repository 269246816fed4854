package managertest

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// patience is for each step of a move: an attempt whose answer was lost may have to settle.
const patience = time.Minute

// Move does what `clusterctl move` does with objects and their ledgers: it pauses them, waits until they may be moved, deletes them by
// force, and makes them again with spec, labels and annotations, without status and under other UIDs. It calls before, which may be nil,
// and unpauses one after the other; each is reconciled before the next one is unpaused.
func Move(t testing.TB, c client.Client, before func(), objects ...graph.Owner) {
	t.Helper()
	m := mover{WithT: NewWithT(t), t: t, client: c}
	m.SetDefaultEventuallyTimeout(patience)
	m.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	for _, o := range objects {
		m.change(o, func() { ledgers.Annotate(o, clusterv1.PausedAnnotation, "") })
	}
	for _, o := range objects {
		m.until(o, metav1.ConditionTrue)
		m.Eventually(func(g Gomega) {
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
			g.Expect(o.GetAnnotations()).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation))
		}).Should(Succeed())
	}
	for _, o := range objects {
		m.move(o)
	}
	if before != nil {
		before()
	}
	for _, o := range objects {
		m.until(o, metav1.ConditionTrue)
		m.change(o, func() {
			all := o.GetAnnotations()
			delete(all, clusterv1.PausedAnnotation)
			o.SetAnnotations(all)
		})
		m.until(o, metav1.ConditionFalse)
	}
}

// mover is one move.
type mover struct {
	*WithT
	t      testing.TB
	client client.Client
}

// move an object with its ledger.
func (m mover) move(o graph.Owner) {
	m.t.Helper()
	ledger, err := ledgers.Of(m.t.Context(), m.client, m.client.Scheme(), o)
	m.Expect(err).NotTo(HaveOccurred())
	if ledger != nil {
		m.remove(ledger.DeepCopy())
	}
	old := o.DeepCopyObject().(client.Object)
	m.change(old, func() { old.SetAnnotations(map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}) }) // instead of all others
	m.remove(old)
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].UID, owners[i].BlockOwnerDeletion = types.UID(fmt.Sprintf("moved-%d", i)), ptr.To(true)
	}
	o.SetOwnerReferences(owners)
	m.create(o)
	m.Expect(o.GetConditions()).To(BeEmpty(), "status doesn't move")
	if ledger != nil {
		ledger.OwnerReferences[0].UID, ledger.Spec.Home, ledger.Status = o.GetUID(), "the-source", ledgerv1.LedgerStatus{}
		m.create(ledger)
	}
}

// remove an object, finalizers and all.
func (m mover) remove(o client.Object) {
	m.t.Helper()
	m.Expect(m.client.Delete(m.t.Context(), o)).To(Succeed())
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	m.Expect(client.IgnoreNotFound(m.client.Patch(m.t.Context(), o, patch))).To(Succeed())
	m.Eventually(func(g Gomega) {
		err := m.client.Get(m.t.Context(), client.ObjectKeyFromObject(o), o)
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		g.Expect(err).To(HaveOccurred())
	}).Should(Succeed())
}

func (m mover) create(o client.Object) {
	m.t.Helper()
	o.SetUID("")
	o.SetResourceVersion("")
	m.Expect(m.client.Create(m.t.Context(), o)).To(Succeed())
}

// change an object, and retry on conflict.
func (m mover) change(o client.Object, change func()) {
	m.t.Helper()
	m.Eventually(func() error {
		if err := m.client.Get(m.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return m.client.Update(m.t.Context(), o)
	}).Should(Succeed())
}

// until an object says that it is paused, or that it isn't.
func (m mover) until(o graph.Owner, paused metav1.ConditionStatus) {
	m.t.Helper()
	m.Eventually(func(g Gomega) {
		g.Expect(m.client.Get(m.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		g.Expect(meta.IsStatusConditionPresentAndEqual(o.GetConditions(), clusterv1.PausedCondition, paused)).To(BeTrue(), "%+v", o.GetConditions())
	}).Should(Succeed())
}
