package webhook_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m, webhook.SetupWithManager) }

func config(namespace string, n int) *operatorv1.DPFOperatorConfig {
	c := &operatorv1.DPFOperatorConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorv1.Name},
		Spec: operatorv1.DPFOperatorConfigSpec{BFBPersistentVolume: "volume-one", HostNetworkConfiguration: &operatorv1.HostNetworkConfiguration{
			HostPF0: "ens2f0np0", HostPF0VF0: "ens2f0v0", CIDR: "10.0.0.0/8",
		}},
	}
	for i := range n {
		network := fmt.Sprintf("10.%d.%d.", i/250, i%250)
		c.Spec.HostNetworkConfiguration.Hosts = append(c.Spec.HostNetworkConfiguration.Hosts, operatorv1.Host{
			HostClusterNodeName: operatorv1.NodeName(fmt.Sprintf("worker-%d", i)), DPUClusterNodeName: operatorv1.NodeName(fmt.Sprintf("dpu-%d", i)),
			HostIP:  operatorv1.AddressWithPrefix(network + "10/24"),
			DPUIP:   operatorv1.AddressWithPrefix(network + "20/24"),
			Gateway: network + "254",
		})
	}
	return c
}

func TestDPFOperatorConfig_isRefusedWhereHostsGetInEachOthersWay(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	for name, row := range map[string]struct {
		change  func(hosts []operatorv1.Host)
		message string
	}{
		"as it should be": {func([]operatorv1.Host) {}, ""},
		"the gateway of both": {func(h []operatorv1.Host) {
			h[1].HostIP, h[1].DPUIP, h[1].Gateway = "10.0.0.11/24", "10.0.0.21/24", h[0].Gateway
		}, ""},
		"a host twice":              {func(h []operatorv1.Host) { h[1].HostClusterNodeName = "worker-0" }, `hosts[1].hostClusterNodeName: Invalid value: "worker-0" … hosts[0].hostClusterNodeName has it`},
		"a DPU twice":               {func(h []operatorv1.Host) { h[2].DPUClusterNodeName = "dpu-0" }, `hosts[2].dpuClusterNodeName`},
		"one name in both clusters": {func(h []operatorv1.Host) { h[1].DPUClusterNodeName = "worker-1" }, ""},
		"two hosts' IP":             {func(h []operatorv1.Host) { h[1] = h[0]; h[1].HostClusterNodeName, h[1].DPUClusterNodeName = "a", "b" }, `hosts[1].hostIP … hosts[1].dpuIP`},
		"a host's IP is another's DPU's": {func(h []operatorv1.Host) {
			h[1].HostIP, h[1].Gateway, h[1].DPUIP = "10.0.0.20/24", "10.0.0.254", "10.0.0.21/24"
		}, `"10.0.0.20"`},
		"one IP with different prefixes": {func(h []operatorv1.Host) {
			h[1].HostIP, h[1].DPUIP, h[1].Gateway = "10.0.0.10/16", "10.0.0.21/16", "10.0.0.254"
		}, `"10.0.0.10"`},
		"the gateway is another host": {func(h []operatorv1.Host) {
			h[1].HostIP, h[1].DPUIP, h[1].Gateway = "10.0.0.11/24", "10.0.0.21/24", "10.0.0.10"
		}, `the gateway is another host`},
		"the network as a host":           {func(h []operatorv1.Host) { h[1].HostIP = "10.0.1.0/24" }, `no host can have this address of its network`},
		"the broadcast address as a DPU":  {func(h []operatorv1.Host) { h[1].DPUIP = "10.0.1.255/24" }, `no host can have this address of its network`},
		"the broadcast address as router": {func(h []operatorv1.Host) { h[1].Gateway = "10.0.1.255" }, `no host can have this address of the network of`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(namespace, 3)
			row.change(c.Spec.HostNetworkConfiguration.Hosts)
			testenv.Answered(t, testenv.Client(t).Create(t.Context(), c, client.DryRunAll), row.message)
		})
	}
}

func TestDPFOperatorConfig_canBeMendedAndDeletedWithOldProblems(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := config("", 2)
	hosts := c.Spec.HostNetworkConfiguration.Hosts
	hosts[1].HostClusterNodeName = hosts[0].HostClusterNodeName
	before := webhook.Problems(&c.Spec)
	g.Expect(before).To(HaveLen(1))
	hosts[1].HostClusterNodeName = "another"
	g.Expect(webhook.Problems(&c.Spec)).To(BeEmpty())
}

// Users of the peer lost the traffic of all nodes by a change of the configuration.
func TestDPFOperatorConfig_keepsWhatMovedNodesLiveBy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	made := config(testenv.Namespace(t), 3)
	g.Expect(c.Create(t.Context(), made)).To(Succeed())
	update := func(change func(*operatorv1.HostNetworkConfiguration)) error {
		changed := made.DeepCopy()
		change(changed.Spec.HostNetworkConfiguration)
		return c.Update(t.Context(), changed, client.DryRunAll)
	}
	pf0 := func(n *operatorv1.HostNetworkConfiguration) { n.HostPF0 = "ens3f0np0" }
	swapped := func(n *operatorv1.HostNetworkConfiguration) {
		n.Hosts[0].DPUClusterNodeName, n.Hosts[1].DPUClusterNodeName = n.Hosts[1].DPUClusterNodeName, n.Hosts[0].DPUClusterNodeName
	}
	g.Expect(update(pf0)).To(Succeed(), "no node is moved yet")
	g.Expect(update(swapped)).To(Succeed())
	made.Status.Nodes = []operatorv1.NodeStatus{
		{Name: "worker-0", Phase: operatorv1.NodeReady}, {Name: "worker-1", Phase: operatorv1.NodeProvisioning}, {Name: "worker-2", Phase: operatorv1.NodePending},
	}
	g.Expect(c.Status().Update(t.Context(), made)).To(Succeed())
	testenv.Answered(t, update(pf0), "spec.hostNetworkConfiguration.hostPF0 … the network of 1 nodes is moved with what it was")
	testenv.Answered(t, update(func(n *operatorv1.HostNetworkConfiguration) { n.HostPF0VF0 = "ens3f0v0" }), "spec.hostNetworkConfiguration.hostPF0VF0")
	testenv.Answered(t, update(func(n *operatorv1.HostNetworkConfiguration) { n.CIDR = "10.0.0.0/9" }), "spec.hostNetworkConfiguration.CIDR")
	testenv.Answered(t, update(swapped), "hosts[0] … the network of node worker-0 is moved with what it was: take its entry out first")
	g.Expect(update(func(n *operatorv1.HostNetworkConfiguration) {
		n.Hosts[1].HostIP, n.Hosts[2].Gateway = "10.0.1.11/24", "10.0.2.253"
	})).To(Succeed(), "what isn't moved can be mended")
	g.Expect(update(func(n *operatorv1.HostNetworkConfiguration) { n.Hosts = n.Hosts[1:] })).To(Succeed(), "it goes back")
	g.Expect(update(func(n *operatorv1.HostNetworkConfiguration) { n.Hosts[0], n.Hosts[2] = n.Hosts[2], n.Hosts[0] })).To(Succeed(), "another order")
	without := made.DeepCopy()
	without.Spec.HostNetworkConfiguration = nil
	g.Expect(c.Update(t.Context(), without, client.DryRunAll)).To(Succeed())
}

func TestProblems_areFewAndQuicklyFound(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := config("", operatorv1.MaxHosts)
	began := time.Now()
	g.Expect(webhook.Problems(&c.Spec)).To(BeEmpty())
	t.Logf("%d hosts take %s", operatorv1.MaxHosts, time.Since(began))
	for i := range c.Spec.HostNetworkConfiguration.Hosts {
		c.Spec.HostNetworkConfiguration.Hosts[i].HostIP = "10.0.0.10/24"
	}
	g.Expect(webhook.Problems(&c.Spec)).To(HaveLen(20))
	g.Expect(webhook.Problems(&operatorv1.DPFOperatorConfigSpec{})).To(BeEmpty())
}
