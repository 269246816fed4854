package lab

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
)

// healthCheck replaces a control plane machine whose node is silent.
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
	t.Parallel()
	g := eventual(t)
	s := startStack(t, g)
	s.apply(g, "demo", func(yaml []byte) []byte {
		yaml = replaceOnce(g, yaml, "replicas: 1\n  version", "replicas: 3\n  version")
		return append(replaceOnce(g, yaml, "replicas: 1\n  selector", "replicas: 0\n  selector"), healthCheck...)
	})
	s.untilControlPlaneIsWhole(g)

	victim := machinesOf(g, s.client)[0]
	processes := processtest.Mentioning(t, filepath.Join(s.dir, "machines", victim.Status.MachineID)+"/")
	g.Expect(len(processes)).To(BeNumerically(">=", 4), "etcd, API server, controllers, kubelet")
	for pid := range processes {
		g.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
	}
	untilGone(g, s.client, &victim)
	s.untilControlPlaneIsWhole(g)
	state := s.sim.state(g)
	g.Expect(state.Instances).To(HaveLen(3))
	g.Expect(state.Instances).NotTo(ContainElement(HaveField("ID", victim.Status.InstanceID)))

	cluster := s.untilAvailable(g, "demo")
	g.Expect(s.client.Delete(t.Context(), cluster)).To(Succeed())
	untilGone(g, s.client, cluster)
	s.sim.expectEmpty(g)
}

// untilControlPlaneIsWhole waits for three ready machines and three healthy members of etcd.
func (s stack) untilControlPlaneIsWhole(g *WithT) {
	g.Eventually(func(g Gomega) {
		kcp := &controlplanev1.KubeadmControlPlane{}
		g.Expect(s.client.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "demo-control-plane"}, kcp)).To(Succeed())
		g.Expect(kcp.Status.ReadyReplicas).To(HaveValue(BeEquivalentTo(3)))
		g.Expect(kcp.Status.Replicas).To(HaveValue(BeEquivalentTo(3)))
		g.Expect(kcp.Status.Conditions).To(ContainElement(And(
			HaveField("Type", controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition), HaveField("Status", metav1.ConditionTrue))))
	}).Should(Succeed())
	g.Expect(s.untilAvailable(g, "demo").Status.Phase).To(BeEquivalentTo(clusterv1.ClusterPhaseProvisioned))
}
