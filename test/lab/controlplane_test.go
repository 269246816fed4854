package lab

import (
	"bytes"
	"context"
	"path/filepath"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/testenv"
)

// healthCheck gives up a control plane machine whose node is silent.
const healthCheck = `
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {namespace: default, name: demo-control-plane}
spec:
  clusterName: demo
  selector: {matchLabels: {cluster.x-k8s.io/control-plane: ""}}
  checks:
    unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 1}]
  remediation:
    triggerIf: {unhealthyLessThanOrEqualTo: 1}
`

// A machine of the control plane dies: etcd keeps its quorum, the virtual address finds the others, and
// KubeadmControlPlane removes the member and the machine and makes another one.
func TestControlPlane_aMachineThatDiesIsReplaced(t *testing.T) {
	g := eventual(t)
	s := startStack(t, g)
	c := s.clientOfAll(t, g)
	s.apply(t, g, "demo", func(yaml []byte) []byte {
		yaml = replaceOnce(g, yaml, "  kubeadmConfigSpec:\n", `  kubeadmConfigSpec:
    clusterConfiguration:
      controllerManager: {extraArgs: [{name: node-monitor-grace-period, value: 20s}]}
`)
		yaml = replaceOnce(g, yaml, "replicas: 1\n  version", "replicas: 3\n  version")
		return append(replaceOnce(g, yaml, "replicas: 1\n  selector", "replicas: 0\n  selector"), healthCheck...)
	})
	s.untilControlPlaneIsWhole(g, c)

	victim := machinesOf(g, c)[0]
	processes := processesThatMention(g, filepath.Join(s.dir, "machines", victim.Status.MachineID)+"/")
	g.Expect(len(processes)).To(BeNumerically(">=", 4), "etcd, API server, controllers, kubelet")
	for pid := range processes {
		g.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
	}
	untilGone(g, c, &victim)
	s.untilControlPlaneIsWhole(g, c)
	state := s.sim.state(g)
	g.Expect(state.Instances).To(HaveLen(3))
	g.Expect(state.Instances).NotTo(ContainElement(HaveField("ID", victim.Status.InstanceID)))

	cluster := s.untilAvailable(g, "demo")
	g.Expect(s.Client().Delete(t.Context(), cluster)).To(Succeed())
	untilGone(g, s.Client(), cluster)
	g.Expect(s.sim.state(g).Empty()).To(BeTrue())
}

// clientOfAll knows Bedplate's types and KubeadmControlPlane's too.
func (s stack) clientOfAll(t *testing.T, g *WithT) client.Client {
	scheme := testenv.Scheme(t)
	g.Expect(controlplanev1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(s.AdminConfig(), client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

// untilControlPlaneIsWhole waits for three ready machines and three healthy members of etcd.
func (s stack) untilControlPlaneIsWhole(g *WithT, c client.Client) {
	g.Eventually(func(g Gomega) {
		kcp := &controlplanev1.KubeadmControlPlane{}
		g.Expect(c.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "demo-control-plane"}, kcp)).To(Succeed())
		g.Expect(kcp.Status.ReadyReplicas).To(HaveValue(BeEquivalentTo(3)))
		g.Expect(kcp.Status.Replicas).To(HaveValue(BeEquivalentTo(3)))
		g.Expect(kcp.Status.Conditions).To(ContainElement(And(
			HaveField("Type", controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition), HaveField("Status", metav1.ConditionTrue))))
	}).Should(Succeed())
	g.Expect(s.untilAvailable(g, "demo").Status.Phase).To(BeEquivalentTo(clusterv1.ClusterPhaseProvisioned))
}

func replaceOnce(g *WithT, data []byte, old, replacement string) []byte {
	g.Expect(bytes.Count(data, []byte(old))).To(Equal(1), old)
	return bytes.Replace(data, []byte(old), []byte(replacement), 1)
}
