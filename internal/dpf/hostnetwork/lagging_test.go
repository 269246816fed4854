package hostnetwork_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

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

// old is a cache that has of one kind what there was some time ago.
type old struct {
	client.Client
	was  client.Client
	kind string
}

func (o old) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if fmt.Sprintf("%T", into) == o.kind {
		return o.was.Get(ctx, key, into, opts...)
	}
	return o.Client.Get(ctx, key, into, opts...)
}

func (o old) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if fmt.Sprintf("%T", into) == o.kind+"List" {
		return o.was.List(ctx, into, opts...)
	}
	return o.Client.List(ctx, into, opts...)
}

// was is the world as it is now.
func (w *world) was() client.Client {
	known, then := scheme(), fake.NewClientBuilder()
	for _, list := range []client.ObjectList{
		&configv1.ClusterVersionList{}, &appsv1.DeploymentList{}, &appsv1.DaemonSetList{}, &corev1.ConfigMapList{}, &corev1.NodeList{},
		&admissionregistrationv1.ValidatingWebhookConfigurationList{},
	} {
		w.g.Expect(w.List(w.t.Context(), list)).To(Succeed())
		then.WithLists(list)
	}
	return then.WithScheme(known).Build()
}

// lags for a while: what is decided by an old cache is refused, decided again, or does no harm.
func (w *world) lags(was client.Client, kind string) {
	for range 25 {
		w.between()
		m := w.move()
		m.Client = old{m.Client, was, kind}
		if _, err := m.Reconcile(w.t.Context(), w.config, w.awake); err != nil {
			w.g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%s: %v", kind, err)
		}
	}
}

// Each kind has a cache of its own, and each may lag behind the others. What one had before or after the last change is never recorded as
// the original, nor taken for restored.
func TestMove_recordsAndRestoresTheOriginalsWhateverTheCacheHas(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{
		"*v1.ClusterVersion", "*v1.Deployment", "*v1.ValidatingWebhookConfiguration", "*v1.DaemonSet", "*v1.ConfigMap", "*v1.Node",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			original, before := w.was(), snapshot(t.Context(), w.g, w)
			w.until("moved", done)
			moved := w.was()
			w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
			w.lags(original, kind)
			w.until("restored", done)
			w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before), "back by a cache of before")
			w.config.DeletionTimestamp = nil
			w.lags(moved, kind)
			w.until("moved again", done)
			w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
			w.until("restored again", done)
			w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before), "there by a cache of after")
		})
	}
}

// By an old cache nothing would be left of a move that goes on.
func TestLeft_isNotOfACache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.was()
	w.until("moved", done)
	m := w.move()
	m.Client = old{m.Client, before, "*v1.ConfigMap"}
	w.g.Expect(m.Left(t.Context())).To(HaveLen(7))
}

// unseen is a cache that doesn't have a copy, or a webhook, that is there.
type unseen struct {
	client.Client
	name string
}

func (u unseen) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if key.Name == u.name {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return u.Client.Get(ctx, key, into, opts...)
}

func TestMove_whatACacheDoesntHaveYetIsAConflict(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ovnkube-config-dpf", "ovnkube-script-lib-dpf", "ovnkube-node-dpf"} {
		w := newWorld(t)
		w.until("moved", done)
		m := w.move()
		m.Client = unseen{m.Client, name}
		_, err := m.Reconcile(t.Context(), w.config, w.awake)
		w.g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%s: %v", name, err)
		w.until("as before", done)
	}
}
