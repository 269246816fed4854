package hostnetwork_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

// loseJournal as one does who takes the finalizers off, and return it.
func (w *world) loseJournal(names ...string) (lost []corev1.ConfigMap) {
	w.t.Helper()
	var list corev1.ConfigMapList
	w.g.Expect(w.List(w.t.Context(), &list, client.HasLabels{journal.Label})).To(Succeed())
	for _, m := range list.Items {
		if len(names) > 0 && m.Name != names[0] {
			continue
		}
		lost = append(lost, *m.DeepCopy())
		m.Finalizers = nil
		w.g.Expect(w.Update(w.t.Context(), &m)).To(Succeed())
		w.g.Expect(w.Delete(w.t.Context(), &m)).To(Succeed())
	}
	return lost
}

func (w *world) restore(lost []corev1.ConfigMap) {
	w.t.Helper()
	for _, m := range lost {
		m.ResourceVersion = ""
		w.g.Expect(w.Create(w.t.Context(), &m)).To(Succeed())
	}
}

// Whenever the journal is lost, what was changed isn't taken for the original: not for another move, and not for one that is back. With the
// journal from a backup all goes on.
func TestMove_withoutItsJournalTakesNothingForTheOriginal(t *testing.T) {
	t.Parallel()
	refused := 0
	for steps := 0; ; steps++ {
		w := newWorld(t)
		original := snapshot(t.Context(), w.g, w)
		over := false
		for range steps {
			result, err := w.reconcile()
			w.g.Expect(err).NotTo(HaveOccurred())
			over = over || result.Done
		}
		lost := w.loseJournal()
		changed := snapshot(t.Context(), w.g, w)
		if wanted := steps%2 == 0; !wanted {
			w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
		}
		if asJSON(changed) != asJSON(original) {
			refused++
			for range 3 {
				result, err := w.reconcile()
				w.g.Expect(err).NotTo(HaveOccurred())
				w.g.Expect(result.Done).To(BeFalse())
				w.g.Expect(result.Condition).To(And(HaveField("Reason", operatorv1.ReasonFailure), HaveField("Message", And(
					ContainSubstring("ClusterVersion version has the annotation dpu.nvidia.com/network-journal"), ContainSubstring("from a backup")))))
			}
			w.g.Expect(w.move().Left(t.Context())).To(ConsistOf(ContainSubstring("journal is lost")))
			w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(changed), "after %d steps", steps)
			w.restore(lost)
		}
		if !over && steps%6 != 0 { // the rest takes long
			continue
		}
		if w.config.DeletionTimestamp == nil {
			w.until("moved", done)
			w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
		}
		w.until("restored", done)
		w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(original), "after %d steps", steps)
		if over {
			w.g.Expect(refused).To(Equal(steps), "all but that before the first one")
			t.Logf("lost after each of %d steps", steps)
			return
		}
	}
}

// A part that is lost isn't taken for nothing either. Nodes that have a record go on.
func TestMove_withoutAPartOfItsJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	original := snapshot(t.Context(), w.g, w)
	moves := func(r hostnetwork.Result) bool {
		return len(r.Nodes) > 0 && r.Nodes[0].Phase == operatorv1.NodeProvisioning
	}
	w.until("in between", moves)
	lost := w.loseJournal("dpf-journal-cluster")
	w.log = nil
	w.until("the node goes on", func(r hostnetwork.Result) bool {
		w.g.Expect(r.Condition.Message).To(ContainSubstring("the journal"))
		return r.Nodes[0].Phase == operatorv1.NodeReady
	})
	w.g.Expect(w.log).NotTo(ContainElement("create dpf-journal-cluster"), "it isn't written once more")
	w.restore(lost)
	w.until("moved", done)

	var nodes corev1.ConfigMapList
	w.g.Expect(w.List(t.Context(), &nodes, client.HasLabels{journal.Label})).To(Succeed())
	shard := nodes.Items[len(nodes.Items)-1]
	lost = w.loseJournal(shard.Name)
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	result := w.until("refused", func(r hostnetwork.Result) bool { return r.Condition.Reason == operatorv1.ReasonFailure })
	for node := range shard.Data {
		w.g.Expect(result.Condition.Message).To(ContainSubstring("node " + node + ": it has the taint or a label of an earlier move"))
	}
	w.g.Expect(w.log).NotTo(ContainElement("create network-node-identity.openshift.io"), "nodes come first")
	w.restore(lost)
	w.until("restored", done)
	w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(original))
}
