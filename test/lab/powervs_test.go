package lab

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/bedplate/bedplate/internal/powervs/providerid"
	power "github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// state is what exists in the account.
func (s remote) account(g Gomega) (state power.State) {
	g.Expect(s.Ask(context.Background(), http.MethodGet, "state", nil, &state)).To(Succeed())
	return state
}

// The main job: from YAML to Ready nodes behind a load balancer, and back.
func TestLab_bringsUpAPowerVSClusterAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	up := startLab(t, g, "powervs")
	up.expectPowerVSNodes()
	tree := up.run("describe", "cluster", "demo", "--kubeconfig", up.Kubeconfig)
	g.Expect(tree).To(MatchRegexp(`Cluster/demo +True`))
	g.Expect(tree).To(MatchRegexp(`load balancer/demo-loadbalancer r006-[0-9a-f-]{36}\n`))
	g.Expect(tree).To(MatchRegexp(`virtual machine [0-9a-f-]{36}\n`))
	g.Expect(tree).To(MatchRegexp(`zone dal10 \(yours\)\n`))
	up.expectAPIServerByItsMemberOnly()
	out := up.run("orphans", "--system", "powervs", "--insecure-loopback-endpoints", "--kubeconfig", up.Kubeconfig)
	g.Expect(out).To(ContainSubstring("No orphans"), "all of it belongs to the cluster")
	up.deletePowerVSCluster()
}

// Machines read their bootstrap data from a bucket, by the URL in their user data. Once they are nodes it isn't there any more.
func TestLab_bringsUpAPowerVSClusterWithIgnition(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	up := startLab(t, g, "powervs-ignition")
	up.expectPowerVSNodes()
	g.Expect(remoteAt(up.Simulator).account(g)).To(And(HaveKey(power.KindBucket), HaveKey(power.KindResourceKey)))
	g.Eventually(func(g Gomega) { g.Expect(remoteAt(up.Simulator).account(g)).NotTo(HaveKey(power.KindObject)) }).Should(Succeed())
	up.deletePowerVSCluster()
}

// expectPowerVSNodes expects that each machine has its node, which is known by its virtual machine.
func (c command) expectPowerVSNodes() {
	c.t.Helper()
	var nodes, machines []string
	for _, node := range nodesOf(c.g, clientOfFile(c.t, c.g, c.Cluster.Kubeconfig)) {
		_, err := providerid.Parse(node.Spec.ProviderID)
		c.g.Expect(err).NotTo(HaveOccurred())
		nodes = append(nodes, node.Spec.ProviderID)
	}
	list := &clusterv1.MachineList{}
	c.g.Expect(clientOfFile(c.t, c.g, c.Kubeconfig).List(c.t.Context(), list)).To(Succeed())
	for _, machine := range list.Items {
		machines = append(machines, machine.Spec.ProviderID)
	}
	c.g.Expect(nodes).To(HaveLen(3))
	c.g.Expect(nodes).To(ConsistOf(machines))
}

// expectAPIServerByItsMemberOnly is a negative control: without its member in the load balancer's pool nothing reaches the API server,
// though that runs; and the manager puts the member back.
func (c command) expectAPIServerByItsMemberOnly() {
	c.t.Helper()
	g, account := c.g, remoteAt(c.Simulator)
	config, err := clientcmd.BuildConfigFromFlags("", c.Cluster.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	connect := func(address string) error { // a new one for each try: connections outlive the member that they lead to
		dialer := &net.Dialer{Timeout: answerTimeout}
		connection, err := tls.DialWithDialer(dialer, "tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return err
		}
		return connection.Close()
	}
	answers := func() error { return connect(strings.TrimPrefix(config.Host, "https://")) }
	g.Expect(answers()).To(Succeed())
	members := account.account(g)[power.KindMember]
	g.Expect(members).To(HaveLen(1))
	account.fault(g, simulator.Fault{Operation: "vpc.createLoadBalancerPoolMember", Kind: simulator.FaultStatus, Status: 500, Times: -1})
	account.vanish(g, members[0].ID)
	g.Eventually(answers).WithTimeout(30 * time.Second).Should(MatchError(Or(ContainSubstring("EOF"), ContainSubstring("connection reset"))))
	g.Expect(connect(members[0].Name)).To(Succeed(), "the API server itself runs, at the address that is the member's name")
	g.Expect(account.Ask(context.Background(), http.MethodDelete, "faults", nil, nil)).To(Succeed())
	g.Eventually(answers).Should(Succeed())
}

// deletePowerVSCluster expects that the account is as it was in the beginning, and ends the lab.
func (c command) deletePowerVSCluster() {
	c.t.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.Cluster.Namespace, Name: c.Cluster.Name}}
	management := clientOfFile(c.t, c.g, c.Kubeconfig)
	c.g.Expect(management.Delete(c.t.Context(), cluster)).To(Succeed())
	untilGone(c.g, management, cluster)
	c.g.Eventually(func(g Gomega) { // the image's object goes after its Cluster, and no one waits for it
		state := remoteAt(c.Simulator).account(g)
		g.Expect(state.Empty()).To(BeTrue(), "left in the simulated account: %+v", state)
	}).Should(Succeed())
	c.down()
}
