package lab

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/publication"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
)

// stays is longer than the cloud controller manager takes to check a node that isn't Ready.
const stays = 12 * time.Second

// The life of nodes whose kubelets know nothing of the cloud, with the cloud controller manager that the example brings.
func TestNodes_areInitialisedAndGoWithTheirInstances(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	s := startStack(t, g)
	s.apply(g, "demo", nil)
	s.untilAvailable(g, "demo")
	workload := s.workload(g, "demo")
	s.expectInitialised(g, workload, 2)

	s.expectNoLogin(g, workload)
	s.rotateCredentials(g)
	s.scaleWorkers(g, 2)
	s.expectInitialised(g, workload, 3)

	nodes := uids(g, workload)
	victim := s.nodeOfAWorker(g, workload)
	s.stopHeartbeat(g, victim)
	g.Eventually(func(g Gomega) {
		g.Expect(workload.Get(context.Background(), client.ObjectKeyFromObject(victim), victim)).To(Succeed())
		g.Expect(victim.Status.Conditions).To(ContainElement(And(
			HaveField("Type", corev1.NodeReady), HaveField("Status", corev1.ConditionUnknown))))
	}).Should(Succeed())
	g.Consistently(func(g Gomega) map[string]types.UID { return uids(g, workload) }, stays).Should(Equal(nodes),
		"a silent node whose instance exists stays")

	// Root there can only deceive the cluster itself.
	hostile := &corev1.ConfigMap{}
	published := client.ObjectKey{Namespace: publication.Namespace, Name: instanceOf(g, victim)}
	g.Expect(workload.Get(context.Background(), published, hostile)).To(Succeed())
	hostile.Data = map[string]string{"instance": "{"}
	g.Expect(workload.Update(context.Background(), hostile)).To(Succeed())
	before := len(s.sim.state(g).Instances)
	g.Consistently(func(g Gomega) map[string]types.UID { return uids(g, workload) }, stays).Should(Equal(nodes))
	g.Expect(s.sim.state(g).Instances).To(HaveLen(before))

	s.sim.vanish(g, instanceOf(g, victim))
	delete(nodes, victim.Name)
	g.Eventually(func(g Gomega) map[string]types.UID { return uids(g, workload) }).Should(Equal(nodes))
	g.Consistently(func(g Gomega) map[string]types.UID { return uids(g, workload) }, stays).Should(Equal(nodes))
}

// expectInitialised expects that many nodes that are as their instances say. Upstream writes a Node's addresses after its taint
// is gone.
func (s stack) expectInitialised(g *WithT, workload client.Client, count int) {
	g.Eventually(func(g Gomega) {
		nodes, instances := nodesOf(g, workload), s.sim.state(g).Instances
		g.Expect(nodes).To(HaveLen(count))
		for _, node := range nodes {
			g.Expect(node.Spec.Taints).NotTo(ContainElement(HaveField("Key", cloudproviderapi.TaintExternalCloudProvider)))
			g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, "site-1"))
			g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelInstanceTypeStable, "cpu.large"))
			g.Expect(instances).To(ContainElement(And(
				HaveField("ID", instanceOf(g, &node)), HaveField("Name", node.Name),
				HaveField("Interfaces", ContainElement(HaveField("IPAddresses", ContainElement(internalIP(&node))))))))
		}
	}).Should(Succeed())
}

// expectNoLogin expects that the cluster has nothing to log in with at the BMM API or the management cluster, and that its own
// cloud controller manager calls neither.
func (s stack) expectNoLogin(g *WithT, workload client.Client) {
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	g.Expect(workload.List(context.Background(), secrets)).To(Succeed())
	g.Expect(workload.List(context.Background(), configMaps)).To(Succeed())
	var said []string
	for _, secret := range secrets.Items {
		for _, value := range secret.Data {
			said = append(said, string(value))
		}
	}
	for _, configMap := range configMaps.Items {
		said = append(said, slices.Collect(maps.Values(configMap.Data))...)
	}
	g.Expect(said).NotTo(BeEmpty())
	for _, text := range said {
		for _, never := range []string{s.bmm.Token, s.bmm.URL, s.AdminConfig().Host} {
			g.Expect(text).NotTo(ContainSubstring(never))
		}
	}
	for _, line := range s.cloudControllers(g) {
		g.Expect(line).NotTo(ContainSubstring("credentials"))
	}
}

// rotateCredentials replaces the token, in the management cluster, and lets the old one expire.
func (s stack) rotateCredentials(g *WithT) {
	const token = "rotated-token"
	program := s.cloudControllers(g)
	s.sim.tokens(g, s.bmm.Token, token)
	s.bmm.Token = token
	s.apply(g, "demo", nil)
	s.sim.tokens(g, token)
	g.Expect(s.cloudControllers(g)).To(Equal(program), "without a restart")
}

// cloudControllers are the processes, by their command line.
func (s stack) cloudControllers(g *WithT) map[int]string {
	programs := map[int]string{}
	for pid, line := range processtest.Mentioning(s.t, filepath.Join(s.dir, "machines")+"/") {
		if filepath.Base(strings.Fields(line)[0]) == "bmm-cloud-controller-manager" {
			programs[pid] = line
		}
	}
	g.Expect(programs).To(HaveLen(1))
	return programs
}

func (s stack) scaleWorkers(g *WithT, replicas int32) {
	g.Eventually(func(g Gomega) {
		deployment := &clusterv1.MachineDeployment{}
		g.Expect(s.client.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "demo-workers"}, deployment)).
			To(Succeed())
		deployment.Spec.Replicas = &replicas
		g.Expect(s.client.Update(context.Background(), deployment)).To(Succeed())
	}).Should(Succeed())
}

// nodeOfAWorker is any: the control plane has to stay.
func (s stack) nodeOfAWorker(g *WithT, workload client.Client) *corev1.Node {
	nodes := nodesOf(g, workload)
	for _, node := range nodes {
		if _, control := node.Labels["node-role.kubernetes.io/control-plane"]; !control {
			return &node
		}
	}
	g.Expect(nodes).To(BeEmpty(), "there is a worker")
	return nil
}

// stopHeartbeat kills the kubelet of a node. Its machine stays on.
func (s stack) stopHeartbeat(g *WithT, node *corev1.Node) {
	killed := 0
	for pid, line := range processtest.Mentioning(s.t, "--manage-single-node="+node.Name+"\x00") {
		if filepath.Base(strings.Fields(line)[0]) == "kwok" {
			g.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
			killed++
		}
	}
	g.Expect(killed).To(Equal(1))
}

func uids(g Gomega, workload client.Client) map[string]types.UID {
	found := map[string]types.UID{}
	for _, node := range nodesOf(g, workload) {
		found[node.Name] = node.UID
	}
	return found
}

func instanceOf(g Gomega, node *corev1.Node) string {
	id, err := providerid.Parse(node.Spec.ProviderID)
	g.Expect(err).NotTo(HaveOccurred())
	return id.InstanceID
}

func internalIP(node *corev1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}
