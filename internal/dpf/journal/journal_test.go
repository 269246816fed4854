package journal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func node(sequence int) Node {
	now := metav1.NewTime(time.Unix(1_800_000_000, 0))
	return Node{
		UID: "11111111-2222-3333-4444-555555555555", ChassisID: ptr.To("66666666-7777-8888-9999-000000000000"),
		Sequence: sequence, Phase: operatorv1.NodeIsolated, Since: now, Generation: 3,
	}
}

func cluster() Cluster {
	return Cluster{
		Override:  &Override{Mark: Mark{UID: "a"}, Entry: &configv1.ComponentOverride{Kind: "Deployment", Name: "network-operator"}},
		Operator:  &Operator{Mark: Mark{UID: "b"}, Replicas: 1},
		Webhook:   &Webhook{Mark: Mark{UID: "c"}, Configuration: &admissionregistrationv1.ValidatingWebhookConfiguration{}},
		DaemonSet: &DaemonSet{Mark: Mark{UID: "d"}, Affinity: &corev1.Affinity{}},
	}
}

func TestJournal_isReadAsItWasWrittenAndOutlivesItsOwners(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	j, err := Load(t.Context(), c, c, namespace)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(j.State().Empty()).To(BeTrue())
	g.Expect(j.PutCluster(t.Context(), cluster())).To(Succeed())
	for i := range 40 {
		g.Expect(j.PutNode(t.Context(), fmt.Sprintf("worker-%d", i), node(i))).To(Succeed())
	}
	g.Expect(j.DropNode(t.Context(), "worker-7")).To(Succeed())

	again, err := Load(t.Context(), c, c, namespace)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asJSON(again.State())).To(Equal(asJSON(j.State())))
	g.Expect(again.State().Nodes).To(And(HaveLen(39), Not(HaveKey("worker-7"))))

	for _, m := range again.maps {
		g.Expect(m.OwnerReferences).To(BeEmpty())
		g.Expect(c.Delete(t.Context(), m.DeepCopy())).To(Succeed(), "by mistake")
	}
	again, err = Load(t.Context(), c, c, namespace)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.State().Nodes).To(HaveLen(39))
	g.Expect(again.Remove(t.Context())).To(Succeed())
	again, err = Load(t.Context(), c, c, namespace)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.State().Empty()).To(BeTrue())
	g.Expect(again.maps).To(BeEmpty())
}

func TestJournal_isWrittenUnderALock(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	load := func() *Journal {
		j, err := Load(t.Context(), c, c, namespace)
		g.Expect(err).NotTo(HaveOccurred())
		return j
	}
	stale, j := load(), load()
	g.Expect(j.PutNode(t.Context(), "worker-1", node(1))).To(Succeed())
	g.Expect(apierrors.IsConflict(stale.PutNode(t.Context(), "worker-1", node(1)))).To(BeTrue(), "another has created it")
	stale = load()
	next := node(1)
	next.Phase = operatorv1.NodeProvisioning
	g.Expect(j.PutNode(t.Context(), "worker-1", next)).To(Succeed())
	g.Expect(apierrors.IsConflict(stale.PutNode(t.Context(), "worker-1", next))).To(BeTrue(), "another has changed it")
	g.Expect(apierrors.IsConflict(stale.DropNode(t.Context(), "worker-1"))).To(BeTrue())
	g.Expect(apierrors.IsConflict(stale.Remove(t.Context()))).To(BeTrue())
	g.Expect(load().State().Nodes).To(HaveKeyWithValue("worker-1", HaveField("Phase", operatorv1.NodeProvisioning)))
}

func TestJournal_neverTakesChangedStateForTheOriginal(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Cluster){
		"entry":                 func(c *Cluster) { c.Override.Entry = nil },
		"entry's field":         func(c *Cluster) { c.Override.Entry.Unmanaged = true },
		"replicas":              func(c *Cluster) { c.Operator.Replicas = 0 },
		"webhook":               func(c *Cluster) { c.Webhook.Configuration = nil },
		"affinity":              func(c *Cluster) { c.DaemonSet.Affinity.NodeAffinity = &corev1.NodeAffinity{} },
		"UID":                   func(c *Cluster) { c.DaemonSet.UID = "another" },
		"whole original":        func(c *Cluster) { c.Operator = nil },
		"one that was restored": func(c *Cluster) { c.Operator.Restored, c.Operator.Replicas = true, 3 },
	} {
		g := NewWithT(t)
		after := cluster()
		change(&after)
		g.Expect(after.keeps(cluster())).To(MatchError(ErrOriginal), name)
	}
	g := NewWithT(t)
	g.Expect(cluster().keeps(Cluster{})).To(Succeed())
	progress := cluster()
	progress.Operator.Stopped, progress.Webhook.Restored, progress.Webhook.Note = true, true, "changed"
	g.Expect(progress.keeps(cluster())).To(Succeed())
}

func TestJournal_keepsTheOriginalOfANodeUntilItIsBack(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*Node)
		fails  bool
	}{
		"phase":             {func(n *Node) { n.Phase, n.Message = operatorv1.NodeReady, "m" }, false},
		"no chassis":        {func(n *Node) { n.ChassisID = nil }, true},
		"another chassis":   {func(n *Node) { n.ChassisID = ptr.To("of the DPU") }, true},
		"another node":      {func(n *Node) { n.UID = "another" }, true},
		"another place":     {func(n *Node) { n.Sequence++ }, true},
		"a phase of before": {func(n *Node) { n.Phase = operatorv1.NodeIsolated }, false},
	} {
		g := NewWithT(t)
		for _, phase := range []operatorv1.NodePhase{operatorv1.NodeIsolated, operatorv1.NodeReady, operatorv1.NodeRollingBack} {
			before := node(1)
			before.Phase = phase
			after := before
			row.change(&after)
			g.Expect(after.keeps(before) != nil).To(Equal(row.fails), "%s of a node that is %s", name, phase)
			before.Phase = operatorv1.NodeRestored
			g.Expect(after.keeps(before)).To(Succeed(), "%s of a node that is restored", name)
		}
	}
}

func TestJournal_hasRoomForEveryHost(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sizes := map[string]int{}
	record := node(operatorv1.MaxHosts)
	record.Phase, record.Message = operatorv1.NodeProvisioning, strings.Repeat("m", 512)
	for i := range operatorv1.MaxHosts {
		name := fmt.Sprintf("worker-%d.%s", i, strings.Repeat("long.", 40))
		sizes[shardOf(name)] += len(name) + len(asJSON(record))
	}
	g.Expect(sizes).To(HaveLen(shards))
	most := 0
	for _, size := range sizes {
		most = max(most, size)
	}
	t.Logf("the largest of %d shards has %d bytes", shards, most)
	g.Expect(most).To(BeNumerically("<", maxSize/2))
	g.Expect(shardOf("worker-1")).To(Equal("dpf-journal-nodes-13"), "the names of before")
}

func TestJournal_refusesWhatItCantRead(t *testing.T) {
	t.Parallel()
	c := testenv.Client(t)
	for name, data := range map[string]map[string]string{
		"no JSON":              {"worker-1": "{"},
		"a later version":      {"worker-1": `{"uid":"a","phase":"Ready","later":1}`},
		"no UID":               {"worker-1": `{"phase":"Ready"}`},
		"an unknown phase":     {"worker-1": `{"uid":"a","phase":"Done"}`},
		"more after it":        {"worker-1": asJSON(node(1)) + "{}"},
		"another shard's":      {"worker-2": asJSON(node(1))},
		"a cluster's":          {clusterKey: asJSON(cluster())},
		"one that is readable": {"worker-1": asJSON(node(1))},
	} {
		g := NewWithT(t)
		namespace := testenv.Namespace(t)
		g.Expect(c.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shardOf("worker-1"), Labels: map[string]string{Label: ""}}, Data: data,
		})).To(Succeed())
		_, err := Load(t.Context(), c, c, namespace)
		if name == "one that is readable" {
			g.Expect(err).NotTo(HaveOccurred())
		} else {
			g.Expect(err).To(MatchError(ContainSubstring(shardOf("worker-1"))), name)
		}
	}
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// What is read is either refused, or means the same when it is written again.
func FuzzDecode(f *testing.F) {
	f.Add(asJSON(node(1)))
	f.Add(asJSON(cluster()))
	f.Add(`{"uid":"a","phase":"Ready","since":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		g := NewWithT(t)
		if node, err := decodeNode(text); err == nil {
			again, err := decodeNode(asJSON(node))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(asJSON(again)).To(Equal(asJSON(node)))
			g.Expect(again.keeps(node)).To(Succeed())
		}
		if cluster, err := decode[Cluster](text); err == nil {
			again, err := decode[Cluster](asJSON(cluster))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again.keeps(cluster)).To(Succeed())
		}
	})
}
