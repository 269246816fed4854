package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/lab"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// kill -9 of the real operator in everything that it does: while it installs, moves the networks, and takes all of that back.
func TestDPFManager_killedAtAnyMomentComesToTheSameEnd(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	s := stack{t: t, dir: t.TempDir()}
	var err error
	s.Stack, err = localstack.StartKubernetes(bounded(t), localstack.Config{
		Dir: s.dir, Tools: toolstest.Find(t, append(localstack.DPFTools(), "bedplate")...), Workloads: true,
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.Stop)
	dpf, err := s.StartDPF(bounded(t))
	g.Expect(err).NotTo(HaveOccurred())
	s.client = clientOf(t, g, s.AdminConfig())
	d := dpfLab{command: command{Lab: &lab.Lab{Simulator: dpf.URL}, t: t, g: g}, management: s.client}

	yaml, err := examples.Render("dpf", nil)
	g.Expect(err).NotTo(HaveOccurred())
	there := func(at func(*operatorv1.DPFOperatorConfig)) []string {
		t.Helper()
		g.Expect(s.Apply(bounded(t), yaml)).To(Succeed())
		d.until(func(c *operatorv1.DPFOperatorConfig) bool {
			return meta.IsStatusConditionTrue(c.Status.Conditions, operatorv1.ReadyCondition)
		}, at)
		return d.changed()
	}
	back := func(at func(*operatorv1.DPFOperatorConfig)) {
		t.Helper()
		g.Expect(s.client.Delete(t.Context(), d.config())).To(Succeed())
		d.until(func(c *operatorv1.DPFOperatorConfig) bool { return c.UID == "" }, at)
		g.Eventually(d.changed).Should(BeEmpty())
	}
	undisturbed := there(nil)
	g.Expect(undisturbed).To(ContainElement("Node ocp-worker-3"))
	back(nil)

	var moments []string
	kill := func(c *operatorv1.DPFOperatorConfig) {
		moment := momentOf(c)
		if slices.Contains(moments, moment) {
			return
		}
		moments = append(moments, moment)
		g.Expect(s.Kill(localstack.DPFManager)).To(Succeed())
		g.Expect(s.Restart(bounded(t), localstack.DPFManager)).To(Succeed())
	}
	g.Expect(there(kill)).To(Equal(undisturbed))
	g.Expect(d.moved()).To(ConsistOf("ocp-worker-1", "ocp-worker-2", "ocp-worker-3"))
	back(kill)
	t.Logf("killed %d times:\n%s", len(moments), strings.Join(moments, "\n"))
	for _, phase := range []operatorv1.NodePhase{operatorv1.NodeIsolated, operatorv1.NodeProvisioning, operatorv1.NodeRollingBack} {
		g.Expect(moments).To(ContainElement(ContainSubstring(string(phase))))
	}
}

// until the configuration is as it should be. At sees it again and again, until then.
func (d dpfLab) until(done func(*operatorv1.DPFOperatorConfig) bool, at func(*operatorv1.DPFOperatorConfig)) {
	d.t.Helper()
	d.g.Eventually(func(g Gomega) bool {
		c := &operatorv1.DPFOperatorConfig{}
		err := d.management.Get(d.t.Context(), client.ObjectKey{Namespace: operatorv1.Namespace, Name: operatorv1.Name}, c)
		if !apierrors.IsNotFound(err) {
			g.Expect(err).NotTo(HaveOccurred())
		}
		if done(c) {
			return true
		}
		if at != nil {
			at(c)
		}
		return false
	}).WithTimeout(2 * patience).WithPolling(10 * time.Millisecond).Should(BeTrue())
}

// momentOf is how far the configuration is: the condition that isn't true yet, and in which phases nodes are.
func momentOf(c *operatorv1.DPFOperatorConfig) string {
	direction, waiting := "there", "nothing"
	if c.DeletionTimestamp != nil {
		direction = "back"
	}
	if ready := meta.FindStatusCondition(c.Status.Conditions, operatorv1.ReadyCondition); ready != nil {
		waiting, _, _ = strings.Cut(ready.Message, ":")
	}
	var phases []string
	for _, n := range c.Status.Nodes {
		phases = append(phases, string(n.Phase))
	}
	slices.Sort(phases)
	return strings.Join([]string{direction, waiting, strings.Join(slices.Compact(phases), "+")}, " ")
}
