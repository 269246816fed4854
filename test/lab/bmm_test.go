// Package lab tests whole systems the way a user runs them: through `bedplate lab`, with real etcd, kube-apiservers and
// Cluster API, and simulated sites.
package lab

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/simulator"
)

// The main job: from YAML to Ready nodes and back, with the commands of the README.
func TestLab_bringsUpABareMetalClusterAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	up := startLab(t, g, "bmm")

	c := clientOfFile(t, g, up.Kubeconfig)
	var nodes, machines []string
	for _, node := range nodesOf(g, clientOfFile(t, g, up.Cluster.Kubeconfig)) {
		_, err := providerid.Parse(node.Spec.ProviderID)
		g.Expect(err).NotTo(HaveOccurred())
		nodes = append(nodes, node.Spec.ProviderID)
	}
	for _, machine := range machinesOf(g, c) {
		machines = append(machines, machine.Spec.ProviderID)
	}
	g.Expect(nodes).To(HaveLen(3))
	g.Expect(nodes).To(ConsistOf(machines))
	tree := up.run("describe", "cluster", "demo", "--kubeconfig", up.Kubeconfig)
	g.Expect(tree).To(MatchRegexp(`Cluster/demo +True`))
	g.Expect(tree).To(MatchRegexp(`VPC [0-9a-f-]{36}\n`))
	g.Expect(tree).To(MatchRegexp(`instance [0-9a-f-]{36}\n`))
	g.Expect(tree).To(MatchRegexp(`IP block [0-9a-f-]{36} \(yours\)\n`))

	second, err := up.try("lab", "up", "--dir", up.dir)
	g.Expect(err).To(HaveOccurred(), "a second lab beside the first")
	g.Expect(second).To(ContainSubstring("already running"))

	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: up.Cluster.Namespace, Name: up.Cluster.Name}}
	g.Expect(c.Delete(t.Context(), cluster)).To(Succeed())
	untilGone(g, c, cluster)
	remoteAt(up.Simulator).expectEmpty(g)
	up.down()
}

func clientOfFile(t *testing.T, g Gomega, kubeconfig string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	return clientOf(t, g, config)
}

// kill -9 of the real manager, at its worst moments: while the service makes a VPC, an instance, and while it deletes.
// The service finishes what it was asked for although the client is gone.
func TestManager_killedAtAnyMomentLeaksAndDoublesNothing(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	s := startStack(t, g)
	for _, operation := range []string{"createVpc", "createInstance", "deleteInstance", "deleteVpc"} {
		s.sim.fault(g, simulator.Fault{Operation: operation, Kind: simulator.FaultCommitLate, Delay: metav1.Duration{Duration: time.Minute}})
	}
	s.killAt(g, localstack.BMMManager, func() { s.apply(g, "demo", nil) }, "createVpc", "createInstance")
	cluster := s.untilAvailable(g, "demo")
	state := s.sim.state(g)
	g.Expect(state.VPCs).To(HaveLen(1))
	g.Expect(state.Subnets).To(HaveLen(1))
	g.Expect(state.Instances).To(HaveLen(2))

	s.killAt(g, localstack.BMMManager, func() { g.Expect(s.client.Delete(t.Context(), cluster)).To(Succeed()) }, "deleteInstance", "deleteVpc")
	untilGone(g, s.client, cluster)
	s.sim.expectNothingKnown(g)
}

// The negative control of the main job: nodes whose provider ID isn't that of their machine's instance don't count.
func TestMachine_doesNotTakeANodeWithAnotherProviderID(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	s := startStack(t, g)
	s.apply(g, "demo", func(yaml []byte) []byte {
		const flag = "          - name: cloud-provider\n            value: external\n"
		return replaceOnce(g, yaml, flag, flag+`          - name: provider-id
            value: nvidia-bmm://00000000-0000-4000-8000-000000000000/{{ ds.meta_data.instance_id }}
`)
	})
	machines := &clusterv1.MachineList{}
	g.Eventually(func(g Gomega) {
		g.Expect(s.client.List(context.Background(), machines)).To(Succeed())
		g.Expect(machines.Items).To(ContainElement(And(
			HaveField("Labels", HaveKey(clusterv1.MachineControlPlaneLabel)),
			HaveField("Status.Conditions", ContainElement(And(
				HaveField("Type", clusterv1.MachineNodeHealthyCondition),
				HaveField("Message", ContainSubstring("Waiting for a Node with spec.providerID"))))))))
		g.Expect(nodesOf(g, s.workload(g, "demo"))).To(HaveLen(1), "the node is there")
	}).Should(Succeed())
	for _, m := range machines.Items {
		g.Expect(m.Status.NodeRef.IsDefined()).To(BeFalse(), m.Name)
	}
}
