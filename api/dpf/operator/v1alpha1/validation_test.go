package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// seed is the example of the design.
const seed = `
imagePullSecrets:
- ngc-secret-name
- docker-secret-name
bfbPersistentVolume: volume-one
imageOverrides:
  dpuservice: localhost:5000/my-image
hostNetworkConfiguration:
  hostPF0: ens2f0np0
  hostPF0VF0: enp23s0f0v0
  CIDR: 10.0.96.0/20
  hosts:
  - hostClusterNodeName: ocp-worker-1
    dpuClusterNodeName: dpu-worker-1
    hostIP: 10.0.96.10/24
    dpuIP: 10.0.96.20/24
    gateway: 10.0.96.254
  - hostClusterNodeName: ocp-worker-2
    dpuClusterNodeName: dpu-worker-2
    hostIP: 10.0.97.10/24
    dpuIP: 10.0.97.20/24
    gateway: 10.0.97.254
`

func valid(t *testing.T, namespace string) *operatorv1.DPFOperatorConfig {
	t.Helper()
	config := &operatorv1.DPFOperatorConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorv1.Name}}
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(seed), &config.Spec)).To(Succeed())
	return config
}

// home is the only namespace that is admitted.
func home(t *testing.T) string {
	t.Helper()
	err := testenv.Client(t).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.Namespace}})
	NewWithT(t).Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	return operatorv1.Namespace
}

// answered creates a configuration after a change, in a dry run: there is only one.
func answered(t *testing.T, namespace string, change func(*operatorv1.DPFOperatorConfig), message string) {
	t.Helper()
	config := valid(t, namespace)
	change(config)
	testenv.Answered(t, testenv.Client(t).Create(t.Context(), config, client.DryRunAll), message)
}

func TestDPFOperatorConfig_refusals(t *testing.T) {
	t.Parallel()
	namespace := home(t)
	digest := "@sha256:" + strings.Repeat("0a", 32)
	network := func(change func(*operatorv1.HostNetworkConfiguration)) func(*operatorv1.DPFOperatorConfig) {
		return func(c *operatorv1.DPFOperatorConfig) { change(c.Spec.HostNetworkConfiguration) }
	}
	host := func(change func(*operatorv1.Host)) func(*operatorv1.DPFOperatorConfig) {
		return network(func(n *operatorv1.HostNetworkConfiguration) { change(&n.Hosts[1]) })
	}
	image := func(image operatorv1.Image) func(*operatorv1.DPFOperatorConfig) {
		return func(c *operatorv1.DPFOperatorConfig) {
			c.Spec.ImageOverrides[string(operatorv1.ComponentDPUService)] = image
		}
	}
	for name, row := range map[string]struct {
		change  func(*operatorv1.DPFOperatorConfig)
		message string
	}{
		"the example of the design": {func(*operatorv1.DPFOperatorConfig) {}, ""},
		"another name":              {func(c *operatorv1.DPFOperatorConfig) { c.Name = "other" }, "there is one DPFOperatorConfig"},
		"no volume":                 {func(c *operatorv1.DPFOperatorConfig) { c.Spec.BFBPersistentVolume = "" }, "bfbPersistentVolume … Required"},
		"no network":                {func(c *operatorv1.DPFOperatorConfig) { c.Spec.HostNetworkConfiguration = nil }, ""},
		"a secret twice":            {func(c *operatorv1.DPFOperatorConfig) { c.Spec.ImagePullSecrets = []string{"a", "a"} }, "Duplicate value"},
		"no name of a secret":       {func(c *operatorv1.DPFOperatorConfig) { c.Spec.ImagePullSecrets = []string{"a/b"} }, "imagePullSecrets[0]"},
		"an unknown component":      {func(c *operatorv1.DPFOperatorConfig) { c.Spec.ImageOverrides["dpuservices"] = "a" }, "each key is a component"},
		"a registry's port":         {image("localhost:5000/my-image:v1"), ""},
		"a registry's IPv6 address": {image("[fd00::1]:5000/my-image"), ""},
		"a digest":                  {image(operatorv1.Image("nvcr.io/nvidia/doca/dpuservice" + digest)), ""},
		"port, tag and digest":      {image(operatorv1.Image("nvcr.io:443/nvidia/doca__x/dpu-service:v1.2_3" + digest)), ""},
		"half a digest":             {image("a@sha256:0a"), "must be the reference of an image"},
		"no tag behind its colon":   {image("a:"), "must be the reference of an image"},
		"upper case in an image":    {image("localhost/My-Image"), "must be the reference of an image"},
		"a space in an image":       {image("a b"), "must be the reference of an image"},
		"a URL as an image":         {image("https://nvcr.io/a"), "must be the reference of an image"},
		"an empty image":            {image(""), "imageOverrides"},
		"no interface":              {network(func(n *operatorv1.HostNetworkConfiguration) { n.HostPF0 = "" }), "hostPF0 … Required"},
		"a long interface":          {network(func(n *operatorv1.HostNetworkConfiguration) { n.HostPF0 = "enp123s0f0np0v12" }), "Too long"},
		"a slash in an interface":   {network(func(n *operatorv1.HostNetworkConfiguration) { n.HostPF0VF0 = "a/b" }), "must be the name of a network interface"},
		"one interface twice":       {network(func(n *operatorv1.HostNetworkConfiguration) { n.HostPF0VF0 = n.HostPF0 }), "not hostPF0 itself"},
		"no CIDR":                   {network(func(n *operatorv1.HostNetworkConfiguration) { n.CIDR = "10.0.96.0" }), "CIDR must be an IPv4 network"},
		"bits behind the prefix":    {network(func(n *operatorv1.HostNetworkConfiguration) { n.CIDR = "10.0.97.0/20" }), "CIDR must be an IPv4 network"},
		"an IPv6 network":           {network(func(n *operatorv1.HostNetworkConfiguration) { n.CIDR = "fd00:10:96::/64" }), "CIDR must be an IPv4 network"},
		"addresses outside CIDR":    {network(func(n *operatorv1.HostNetworkConfiguration) { n.CIDR = "10.0.96.0/24" }), "gateway of each … hostIP of each … dpuIP of each"},
		"no hosts":                  {network(func(n *operatorv1.HostNetworkConfiguration) { n.Hosts = nil }), "hosts … Required"},
		"hostIP without prefix":     {host(func(h *operatorv1.Host) { h.HostIP = "10.0.97.10" }), "must be an IPv4 address with the length of its prefix"},
		"hostIP is no address":      {host(func(h *operatorv1.Host) { h.HostIP = "10.0.97.300/24" }), "must be an IPv4 address with the length of its prefix"},
		"hostIP of one host":        {host(func(h *operatorv1.Host) { h.HostIP = "10.0.97.10/32" }), "must be an IPv4 address with the length of its prefix"},
		"dpuIP of another network":  {host(func(h *operatorv1.Host) { h.DPUIP = "10.0.98.20/24" }), "the gateway must be in the network of dpuIP"},
		"hostIP of another network": {host(func(h *operatorv1.Host) { h.HostIP = "10.0.98.20/24" }), "the gateway must be in the network of hostIP"},
		"gateway with a prefix":     {host(func(h *operatorv1.Host) { h.Gateway = "10.0.97.254/24" }), "gateway must be an IPv4 address"},
		"one address for both":      {host(func(h *operatorv1.Host) { h.DPUIP = h.HostIP }), "must be three addresses"},
		"gateway is a host":         {host(func(h *operatorv1.Host) { h.Gateway = "10.0.97.10" }), "must be three addresses"},
		"no name of a node":         {host(func(h *operatorv1.Host) { h.HostClusterNodeName = "Worker" }), "hostClusterNodeName … should match"},
		"no DPU":                    {host(func(h *operatorv1.Host) { h.DPUClusterNodeName = "" }), "dpuClusterNodeName … Required"},
		"a prefix of 31 bits":       {host(func(h *operatorv1.Host) { h.HostIP, h.DPUIP, h.Gateway = "10.0.97.2/23", "10.0.97.4/23", "10.0.97.3" }), ""},
		"none at a time":            {network(func(n *operatorv1.HostNetworkConfiguration) { n.MaxUnavailable = -1 }), "maxUnavailable"},
		"no time":                   {network(func(n *operatorv1.HostNetworkConfiguration) { n.NodeTimeout.Duration = time.Second }), "choose a time from 1m to 24h"},
		"more than 2,000 hosts":     {network(func(n *operatorv1.HostNetworkConfiguration) { n.Hosts = hosts(operatorv1.MaxHosts + 1) }), "must have at most 2000 items"},
		"2,000 hosts": {network(func(n *operatorv1.HostNetworkConfiguration) {
			n.CIDR, n.Hosts = "10.0.0.0/8", hosts(operatorv1.MaxHosts)
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answered(t, namespace, row.change, row.message)
		})
	}
}

// hosts are valid.
func hosts(n int) (all []operatorv1.Host) {
	for i := range n {
		network := fmt.Sprintf("10.%d.%d.", i/250, i%250)
		all = append(all, operatorv1.Host{
			HostClusterNodeName: operatorv1.NodeName(fmt.Sprintf("ocp-worker-%d", i)), DPUClusterNodeName: operatorv1.NodeName(fmt.Sprintf("dpu-worker-%d", i)),
			HostIP: operatorv1.AddressWithPrefix(network + "10/24"), DPUIP: operatorv1.AddressWithPrefix(network + "20/24"), Gateway: network + "254",
		})
	}
	return all
}

func TestDPFOperatorConfig_hasDefaultsAndRoomForItsLargest(t *testing.T) {
	g := NewWithT(t)
	c := testenv.Client(t)
	config := valid(t, home(t))
	config.Spec.HostNetworkConfiguration.CIDR = "10.0.0.0/8"
	config.Spec.HostNetworkConfiguration.Hosts = hosts(operatorv1.MaxHosts)
	g.Expect(c.Create(t.Context(), config)).To(Succeed())
	g.Expect(config.Spec.HostNetworkConfiguration.MaxUnavailable).To(BeEquivalentTo(1))
	g.Expect(config.Spec.HostNetworkConfiguration.NodeTimeout.Duration).To(Equal(15 * time.Minute))

	since := metav1.Now()
	for _, host := range config.Spec.HostNetworkConfiguration.Hosts {
		config.Status.Nodes = append(config.Status.Nodes, operatorv1.NodeStatus{
			Name: string(host.HostClusterNodeName), Phase: operatorv1.NodeReady, Since: &since, Message: strings.Repeat("m", 100),
		})
	}
	g.Expect(c.Status().Update(t.Context(), config)).To(Succeed())
	g.Expect(c.Delete(t.Context(), config)).To(Succeed())
}

// The policy is asked beside the CRD's own rules, which don't see the namespace.
func TestDPFOperatorConfig_isOne(t *testing.T) {
	g := NewWithT(t)
	c := testenv.Client(t)
	folder, err := filepath.Abs("../../../../config/dpf/admission")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = os.Stat(folder)
	g.Expect(err).NotTo(HaveOccurred())
	testenv.Kubectl(t, "apply", "-k", folder)
	elsewhere := testenv.Namespace(t)
	g.Eventually(func() error { return c.Create(t.Context(), valid(t, elsewhere), client.DryRunAll) }).WithTimeout(30 * time.Second).
		Should(MatchError(ContainSubstring("dpfoperatorconfig in the namespace dpf-operator-system")))

	config := valid(t, home(t))
	g.Expect(c.Create(t.Context(), config)).To(Succeed())
	config.Spec.Paused = true
	g.Expect(c.Update(t.Context(), config)).To(Succeed())
	g.Expect(c.Delete(t.Context(), config)).To(Succeed())
}
