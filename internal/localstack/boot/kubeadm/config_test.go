package kubeadm

import (
	"bytes"
	"log/slog"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubeadmv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"
)

func TestFindCommand_recognisesTheShapesOfUserData(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, line string
		want       Command
		found      bool
	}{
		{"Cluster API's init", "kubeadm init --config /run/kubeadm/kubeadm.yaml  && echo success > /run/cluster-api/bootstrap-success.complete",
			Command{VerbInit, "/run/kubeadm/kubeadm.yaml", "/run/cluster-api/bootstrap-success.complete"}, true},
		{"Cluster API's join, with verbosity", "kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml --v 5 && echo success > /done",
			Command{VerbJoin, "/run/kubeadm/kubeadm-join-config.yaml", "/done"}, true},
		{"with an equals sign and a path", "sudo /usr/bin/kubeadm init --v=5 --config='/k.yaml'", Command{VerbInit, "/k.yaml", ""}, true},
		{"in a loop", "until kubeadm-ready; do kubeadm join --config /k.yaml; done", Command{VerbJoin, "/k.yaml", ""}, true},
		{"without a file", "kubeadm init", Command{VerbInit, "", ""}, true},
		{"another command of kubeadm", "kubeadm config images pull", Command{}, false},
		{"an argument of another program", "echo kubeadm init", Command{}, false},
		{"another program", "systemctl start kubelet", Command{}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, found := FindCommand(row.line)
			g.Expect(found).To(Equal(row.found))
			g.Expect(got).To(Equal(row.want))
		})
	}
}

const (
	clusterYAML = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\n"
	initYAML    = "---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"
	joinYAML    = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
	otherYAML   = "---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 5\n"
)

func TestParseInit_appliesKubeadmsDefaults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	config, err := ParseInit([]byte("---\n" + clusterYAML + otherYAML + initYAML))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Cluster.CertificatesDir).To(Equal("/etc/kubernetes/pki"))
	g.Expect(config.Cluster.Networking.ServiceSubnet).To(Equal("10.96.0.0/12"))
	g.Expect(config.Init.NodeRegistration.Taints).To(Equal([]corev1.Taint{
		{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}))
	_, ok, err := config.Endpoint()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ok).To(BeFalse())
}

func TestParseInit_keepsAnEmptyListOfTaints(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	config, err := ParseInit([]byte(clusterYAML + initYAML + "nodeRegistration: {taints: []}\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Init.NodeRegistration.Taints).To(BeEmpty())
}

func TestEndpoint_readsAddressesWithAndWithoutPort(t *testing.T) {
	t.Parallel()
	rows := map[string]string{"127.9.0.1": "127.9.0.1:6443", "127.9.0.1:8443": "127.9.0.1:8443"}
	for text, want := range rows {
		g := NewWithT(t)
		config, err := ParseInit([]byte(clusterYAML + "controlPlaneEndpoint: " + text))
		g.Expect(err).NotTo(HaveOccurred())
		endpoint, ok, err := config.Endpoint()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ok).To(BeTrue())
		g.Expect(endpoint).To(Equal(netip.MustParseAddrPort(want)))
	}
}

func TestParse_refusesConfigurationThatKubeadmWouldRefuse(t *testing.T) {
	t.Parallel()
	parseInit := func(data []byte) error { _, err := ParseInit(data); return err }
	parseJoin := func(data []byte) error { _, err := ParseJoin(data); return err }
	discovery := "discovery: {bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: '127.9.0.1:6443'"
	rows := []struct {
		name, data string
		parse      func([]byte) error
		want       string
	}{
		{"no cluster", initYAML, parseInit, "without a ClusterConfiguration"},
		{"an old version", "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration", parseInit, "v1beta3"},
		{"no YAML", "{", parseInit, "parse kubeadm configuration"},
		{"a wrong type", clusterYAML + "networking: 5", parseInit, "parse kubeadm ClusterConfiguration"},
		{"no version", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration", parseInit, "kubernetesVersion"},
		{"an external etcd", clusterYAML + "etcd: {external: {endpoints: [x]}}", parseInit, "external etcd"},
		{"an endpoint by name", clusterYAML + "controlPlaneEndpoint: api.example.com:6443", parseInit, "controlPlaneEndpoint"},
		{"another port", clusterYAML + initYAML + "localAPIEndpoint: {bindPort: 7}", parseInit, "bindPort 7"},
		{"no join", clusterYAML, parseJoin, "without a JoinConfiguration"},
		{"no discovery", joinYAML, parseJoin, "only discovery by bootstrap token"},
		{"no pins", joinYAML + discovery + "}}", parseJoin, "neither caCertHashes nor"},
		{"pins", joinYAML + discovery + ", caCertHashes: ['sha256:00']}}", parseJoin, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			err := row.parse([]byte(row.data))
			if row.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(row.want)))
		})
	}
}

func TestParseJoin_keepsWorkloadsOffAnotherControlPlaneMachine(t *testing.T) {
	t.Parallel()
	join := joinYAML + "discovery: {bootstrapToken: {token: x, apiServerEndpoint: '127.9.0.1:6443', unsafeSkipCAVerification: true}}\n"
	taint := corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}
	for data, want := range map[string][]corev1.Taint{
		join: nil,
		join + "controlPlane: {localAPIEndpoint: {}}\n":                               {taint},
		join + "controlPlane: {localAPIEndpoint: {}}\nnodeRegistration: {taints: []}": {},
	} {
		g := NewWithT(t)
		config, err := ParseJoin([]byte(data))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.NodeRegistration.Taints).To(Equal(want), data)
	}
}

func TestRegistration_readsTheKubeletsFlags(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	host := Host{Hostname: "Node-1", Address: netip.MustParseAddr("127.9.0.1"), Console: slog.New(slog.DiscardHandler)}
	r, err := registration(host, kubeadmv1.NodeRegistrationOptions{
		Taints: []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoExecute}},
		KubeletExtraArgs: []kubeadmv1.Arg{
			{Name: "provider-id", Value: "cloud://x"}, {Name: "node-ip", Value: "127.9.0.1"},
			{Name: "node-labels", Value: "a=b,c="}, {Name: "register-with-taints", Value: "k=v:NoSchedule"},
			{Name: "cloud-provider", Value: "external"}, {Name: "eviction-hard", Value: "x"},
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Name).To(Equal("node-1"))
	g.Expect(r.ProviderID).To(Equal("cloud://x"))
	g.Expect(r.Labels).To(Equal(map[string]string{"a": "b", "c": ""}))
	g.Expect(r.Taints).To(Equal([]corev1.Taint{
		{Key: "a", Effect: corev1.TaintEffectNoExecute},
		{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule},
	}))
}

func TestRegistration_leavesTheAddressesToTheCloudUnlessOneIsGiven(t *testing.T) {
	t.Parallel()
	host := Host{Hostname: "node-1", Address: netip.MustParseAddr("127.9.0.1"), Console: slog.New(slog.DiscardHandler)}
	external := kubeadmv1.Arg{Name: "cloud-provider", Value: "external"}
	for _, row := range []struct {
		args        []kubeadmv1.Arg
		unaddressed bool
	}{
		{nil, false},
		{[]kubeadmv1.Arg{external}, true},
		{[]kubeadmv1.Arg{external, {Name: "node-ip", Value: "127.9.0.1"}}, false},
	} {
		r, err := registration(host, kubeadmv1.NodeRegistrationOptions{KubeletExtraArgs: row.args})
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Unaddressed).To(Equal(row.unaddressed), "%v", row.args)
	}
}

func TestRegistration_refusesFlagsThatAKubeletWouldRefuse(t *testing.T) {
	t.Parallel()
	host := Host{Hostname: "node-1", Address: netip.MustParseAddr("127.9.0.1"), Console: slog.New(slog.DiscardHandler)}
	for name, value := range map[string]string{"node-ip": "127.9.0.2", "node-labels": "a", "register-with-taints": "a=b"} {
		_, err := registration(host, kubeadmv1.NodeRegistrationOptions{
			KubeletExtraArgs: []kubeadmv1.Arg{{Name: name, Value: value}},
		})
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("--" + name)))
	}
}

func TestControllerManagerArgs_passOnWhatMeansTheSameHere(t *testing.T) {
	t.Parallel()
	var console bytes.Buffer
	host := Host{Console: slog.New(slog.NewTextHandler(&console, nil))}
	g := NewWithT(t)
	args := controllerManagerArgs(host, []kubeadmv1.Arg{
		{Name: "node-monitor-grace-period", Value: "7s"}, {Name: "bind-address", Value: "0.0.0.0"},
	})
	g.Expect(args[len(args)-1]).To(Equal("--node-monitor-grace-period=7s"), "the last one counts")
	g.Expect(args).NotTo(ContainElement(ContainSubstring("bind-address")))
	g.Expect(console.String()).To(ContainSubstring("bind-address"))
}
