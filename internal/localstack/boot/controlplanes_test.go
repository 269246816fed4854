package boot_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bedplate/bedplate/internal/localstack/boot"
)

// Three machines form one control plane: it outlives the first of them, which made the cluster.
func TestPowerOn_joinsMachinesToTheControlPlane(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := t.Context()
	l := newLab(t)
	client := l.client()
	powerOn := func(n byte, userData []byte, node string) boot.Machine {
		t.Helper()
		machine, began := l.machine(n, userData), time.Now()
		g.Expect(l.rack.PowerOn(machine)).To(Succeed())
		g.Eventually(func() string { return l.console(machine) }).WithTimeout(patience).
			Should(Or(ContainSubstring("boot finished"), ContainSubstring("boot stopped")))
		g.Expect(l.console(machine)).To(ContainSubstring("boot finished"))
		g.Eventually(func() corev1.ConditionStatus { return ready(ctx, client, node) }).WithTimeout(patience).Should(Equal(corev1.ConditionTrue))
		t.Logf("%s Ready after %s", node, time.Since(began))
		return machine
	}
	first := powerOn(1, l.initData(), "node-1")
	l.createToken(ctx, client)
	powerOn(2, l.joinControlPlaneData(), "node-2")
	powerOn(3, l.joinControlPlaneData(), "node-3")

	for _, name := range []string{"node-1", "node-2", "node-3"} {
		expectEtcdMember(ctx, t, l, name)
		expectAPIServerCertificate(ctx, t, l, name)
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(node.Labels).To(HaveKey("node-role.kubernetes.io/control-plane"))
		g.Expect(node.Spec.Taints).To(ContainElement(
			corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}))
	}

	l.rack.PowerOff(first.ID)
	g.Eventually(func() error { return write(ctx, client) }).WithTimeout(patience).Should(Succeed(), "two of three are a quorum")
	g.Eventually(func() corev1.ConditionStatus { return ready(ctx, client, "node-1") }).WithTimeout(patience).
		Should(Equal(corev1.ConditionUnknown), "another machine's controllers have taken over")
	g.Eventually(func() corev1.ConditionStatus { return ready(ctx, client, "node-2") }).WithTimeout(patience).Should(Equal(corev1.ConditionTrue))
	powerOn(4, l.joinData(l.pins()), "node-4")
}

// write needs etcd's quorum.
func write(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ConfigMaps("default").
		Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "written-"}}, metav1.CreateOptions{})
	return err
}
