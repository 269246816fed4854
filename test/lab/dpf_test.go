package lab

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/dpf/sim/platform"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

var dpfConfig = client.ObjectKey{Namespace: operatorv1.Namespace, Name: operatorv1.Name}

func TestDPF_thin(t *testing.T) {
	g := eventual(t)
	s, err := localstack.StartKubernetes(bounded(t), localstack.Config{
		Dir: t.TempDir(), Tools: toolstest.Find(t, append(localstack.DPFTools(), "bedplate")...), Workloads: true,
		Observe: func(s localstack.Step) { t.Log(s) },
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.Stop)
	d, err := s.StartDPF(bounded(t))
	g.Expect(err).NotTo(HaveOccurred())
	state := func() (state platform.State) {
		g.Expect(remoteAt(d.URL).Ask(context.Background(), http.MethodGet, "state", nil, &state)).To(Succeed())
		return state
	}
	g.Expect(state().Changed).To(BeEmpty())
	yaml, err := examples.Render("dpf", map[string]string{"NODE_TIMEOUT": "1m"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Apply(bounded(t), yaml)).To(Succeed())
	last := ""
	g.Eventually(func() bool {
		config := &operatorv1.DPFOperatorConfig{}
		g.Expect(s.Client().Get(t.Context(), dpfConfig, config)).To(Succeed())
		c := meta.FindStatusCondition(config.Status.Conditions, operatorv1.ReadyCondition)
		if c != nil && c.Message != last {
			last = c.Message
			t.Log(last, config.Status.Nodes)
		}
		return meta.IsStatusConditionTrue(config.Status.Conditions, operatorv1.ReadyCondition)
	}).WithTimeout(patience).Should(BeTrue())
	t.Log(state())
	g.Expect(s.Client().Delete(t.Context(), &operatorv1.DPFOperatorConfig{ObjectMeta: metaOf(dpfConfig)})).To(Succeed())
	g.Eventually(func() error {
		config := &operatorv1.DPFOperatorConfig{}
		err := s.Client().Get(t.Context(), dpfConfig, config)
		if err == nil {
			c := meta.FindStatusCondition(config.Status.Conditions, operatorv1.ReadyCondition)
			if c != nil && c.Message != last {
				last = c.Message
				t.Log(last)
			}
		}
		return err
	}).WithTimeout(patience).ShouldNot(Succeed())
	t.Log(state())
}

func metaOf(key client.ObjectKey) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
}
