package hostnetwork_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
)

// lagging is a cache that doesn't have the last writes of nodes.
type lagging struct {
	client.Client
	nodes *corev1.NodeList
}

func (l lagging) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if nodes, is := list.(*corev1.NodeList); is {
		l.nodes.DeepCopyInto(nodes)
		return nil
	}
	return l.Client.List(ctx, list, opts...)
}

func TestMove_deletedWhileTheCacheLagsLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := snapshot(t.Context(), w.g, w)
	w.until("begun", func(r hostnetwork.Result) bool {
		return len(r.Nodes) > 0 && r.Nodes[0].Phase == operatorv1.NodeIsolated
	})
	old := &corev1.NodeList{}
	w.g.Expect(w.List(t.Context(), old)).To(Succeed())
	_, err := w.move().Reconcile(t.Context(), w.config, w.awake)
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(w.node("ocp-worker-1").Spec.Taints).To(HaveLen(2), "it is isolated")
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	for range 2 {
		m := w.move()
		m.Client = lagging{m.Client, old}
		_, err := m.Reconcile(t.Context(), w.config, w.awake)
		w.g.Expect(err).NotTo(HaveOccurred())
	}
	w.until("restored", done)
	w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before))
}

// The journal is of a backup, in which a node is Restored that was moved once more since.
func TestMove_backByAnOlderJournalLeavesNoNodeMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := snapshot(t.Context(), w.g, w)
	w.until("moved", done)
	change := func(hosts ...string) {
		w.config.Spec = config(hosts...).Spec
		w.config.Generation++
	}
	change("ocp-worker-2", "ocp-worker-3")
	w.until("back", func(r hostnetwork.Result) bool { return r.Nodes[0].Phase == operatorv1.NodeRestored })
	var backup corev1.ConfigMapList
	w.g.Expect(w.List(t.Context(), &backup, client.HasLabels{"dpu.nvidia.com/network-journal"})).To(Succeed())
	change(workers...)
	w.until("moved again", done)
	w.loseJournal()
	w.restore(backup.Items)
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	w.until("restored", done)
	w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before))
}
