package boot_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	kubeadmtypes "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstream"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/bedplate/bedplate/internal/localstack/boot"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

const (
	version     = "v1.36.3"
	tokenID     = "abcdef"
	tokenSecret = "0123456789abcdef"
	siteID      = "0a0b0c0d-0000-4000-8000-000000000001"

	// patience is for what a machine or a cluster does by itself, also where others have the processors.
	patience = 3 * time.Minute
)

// lab is a rack together with what Cluster API knows about one cluster on it.
type lab struct {
	t        *testing.T
	dir      string
	rack     *boot.Rack
	block    *loopback.Block
	endpoint netip.AddrPort
	certs    secret.Certificates
}

func newLab(t *testing.T) *lab {
	t.Helper()
	return newLabWith(t, func(*boot.Config) {})
}

func newLabWith(t *testing.T, change func(*boot.Config)) *lab {
	t.Helper()
	g := NewWithT(t)
	tools := toolstest.Find(t, boot.Tools...)
	block, err := loopback.Claim()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(block.Close)
	certs := secret.NewCertificatesForInitialControlPlane(nil)
	g.Expect(certs.Generate()).To(Succeed())
	dir := t.TempDir()
	config := boot.Config{Dir: dir, Tools: tools, Log: slog.New(slog.DiscardHandler)}
	change(&config)
	l := &lab{
		t: t, dir: dir, block: block, certs: certs, endpoint: netip.AddrPortFrom(block.Address(200, 1), 6443), rack: boot.New(config),
	}
	t.Cleanup(l.rack.Close)
	return l
}

// machine returns machine n with the metadata of the real service.
func (l *lab) machine(n byte, userData []byte) boot.Machine {
	id := fmt.Sprintf("fm100-%d", n)
	return boot.Machine{
		ID: id, Hostname: fmt.Sprintf("Node-%d", n), Address: l.block.Address(0, n), UserData: userData,
		Metadata: map[string]string{
			"hostname": fmt.Sprintf("node-%d", n), "sitename": "lab", "machine-id": id, "asn": "65001",
			"instance-id": instanceID(n),
		},
	}
}

func instanceID(n byte) string { return fmt.Sprintf("11111111-0000-4000-8000-%012d", n) }

func nodeRegistration() bootstrapv1.NodeRegistrationOptions {
	value := func(s string) *string { return &s }
	return bootstrapv1.NodeRegistrationOptions{
		Name: "{{ ds.meta_data.hostname }}",
		KubeletExtraArgs: []bootstrapv1.Arg{
			{Name: "provider-id", Value: value("nvidia-bmm://" + siteID + "/{{ ds.meta_data.instance_id }}")},
			{Name: "node-labels", Value: value("topology.kubernetes.io/zone={{ ds.meta_data.sitename }}")},
		},
	}
}

// initData returns the user data of the first control plane machine, as Cluster API makes it.
func (l *lab) initData() []byte {
	g := NewWithT(l.t)
	v := semver.MustParse(version[1:])
	kubernetesVersion, clusterName := version, "demo"
	cluster, err := kubeadmtypes.MarshalClusterConfigurationForVersion(&bootstrapv1.ClusterConfiguration{
		ControlPlaneEndpoint: l.endpoint.String(),
	}, v, &upstream.AdditionalData{KubernetesVersion: &kubernetesVersion, ClusterName: &clusterName})
	g.Expect(err).NotTo(HaveOccurred())
	init, err := kubeadmtypes.MarshalInitConfigurationForVersion(
		&bootstrapv1.InitConfiguration{NodeRegistration: nodeRegistration()}, v)
	g.Expect(err).NotTo(HaveOccurred())
	data, err := cloudinit.NewInitControlPlane(&cloudinit.ControlPlaneInput{
		BaseUserData:         cloudinit.BaseUserData{KubernetesVersion: v, PreKubeadmCommands: []string{"systemctl enable --now kubelet"}},
		Certificates:         l.certs,
		ClusterConfiguration: cluster,
		InitConfiguration:    init,
	})
	g.Expect(err).NotTo(HaveOccurred())
	return data
}

// joinConfiguration returns kubeadm's configuration for one more machine.
func (l *lab) joinConfiguration(pins []string, controlPlane *bootstrapv1.JoinControlPlane) string {
	join, err := kubeadmtypes.MarshalJoinConfigurationForVersion(&bootstrapv1.JoinConfiguration{
		NodeRegistration: nodeRegistration(),
		ControlPlane:     controlPlane,
		Discovery: bootstrapv1.Discovery{BootstrapToken: bootstrapv1.BootstrapTokenDiscovery{
			Token: tokenID + "." + tokenSecret, APIServerEndpoint: l.endpoint.String(), CACertHashes: pins,
		}},
	}, semver.MustParse(version[1:]))
	NewWithT(l.t).Expect(err).NotTo(HaveOccurred())
	return join
}

// joinControlPlaneData returns the user data of one more control plane machine, as Cluster API makes it.
func (l *lab) joinControlPlaneData() []byte {
	data, err := cloudinit.NewJoinControlPlane(&cloudinit.ControlPlaneJoinInput{
		BaseUserData:      cloudinit.BaseUserData{KubernetesVersion: semver.MustParse(version[1:])},
		Certificates:      l.certs,
		JoinConfiguration: l.joinConfiguration(l.pins(), &bootstrapv1.JoinControlPlane{}),
	})
	NewWithT(l.t).Expect(err).NotTo(HaveOccurred())
	return data
}

// joinData returns the user data of a worker, as Cluster API makes it.
func (l *lab) joinData(pins []string) []byte {
	g := NewWithT(l.t)
	v := semver.MustParse(version[1:])
	join := l.joinConfiguration(pins, nil)
	data, err := cloudinit.NewNode(&cloudinit.NodeInput{
		BaseUserData: cloudinit.BaseUserData{KubernetesVersion: v}, JoinConfiguration: join,
	})
	g.Expect(err).NotTo(HaveOccurred())
	return data
}

func (l *lab) pins() []string {
	pins, err := l.certs.GetByPurpose(secret.ClusterCA).Hashes()
	NewWithT(l.t).Expect(err).NotTo(HaveOccurred())
	return pins
}

// console returns what a machine has said so far.
func (l *lab) console(m boot.Machine) string {
	data, err := os.ReadFile(filepath.Join(l.dir, m.ID, "console.log"))
	NewWithT(l.t).Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// admin returns a client configuration made from the cluster's CA, as Cluster API makes its kubeconfig.
func (l *lab) admin() *rest.Config {
	g := NewWithT(l.t)
	pair := l.certs.GetByPurpose(secret.ClusterCA).KeyPair
	ca, err := pki.ParseAuthority(pki.KeyPair{Cert: pair.Cert, Key: pair.Key})
	g.Expect(err).NotTo(HaveOccurred())
	leaf, err := ca.Sign(pki.Leaf{CommonName: "kubernetes-admin", Organizations: []string{"system:masters"}, Usages: clientAuth})
	g.Expect(err).NotTo(HaveOccurred())
	return &rest.Config{Host: "https://" + l.endpoint.String(), Timeout: 10 * time.Second, TLSClientConfig: rest.TLSClientConfig{
		CAData: pair.Cert, CertData: leaf.Cert, KeyData: leaf.Key,
	}}
}

func (l *lab) client() kubernetes.Interface {
	client, err := kubernetes.NewForConfig(l.admin())
	NewWithT(l.t).Expect(err).NotTo(HaveOccurred())
	return client
}

// createToken writes the bootstrap token as Cluster API's bootstrap provider does.
func (l *lab) createToken(ctx context.Context, client kubernetes.Interface) {
	_, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + tokenID},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		StringData: map[string]string{
			bootstrapapi.BootstrapTokenIDKey:               tokenID,
			bootstrapapi.BootstrapTokenSecretKey:           tokenSecret,
			bootstrapapi.BootstrapTokenExpirationKey:       time.Now().UTC().Add(time.Hour).Format(time.RFC3339),
			bootstrapapi.BootstrapTokenUsageSigningKey:     "true",
			bootstrapapi.BootstrapTokenUsageAuthentication: "true",
			bootstrapapi.BootstrapTokenExtraGroupsKey:      "system:bootstrappers:kubeadm:default-node-token",
		},
	}, metav1.CreateOptions{})
	NewWithT(l.t).Expect(err).NotTo(HaveOccurred())
}

// ready returns the status of a Node's Ready condition, "" without Node.
func ready(ctx context.Context, client kubernetes.Interface, name string) corev1.ConditionStatus {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status
		}
	}
	return ""
}

// replaceOnce replaces the first occurrence and insists that there is one.
func replaceOnce(t *testing.T, data []byte, old, replacement string) []byte {
	t.Helper()
	NewWithT(t).Expect(bytes.Contains(data, []byte(old))).To(BeTrue(), "the data has %q", old)
	return bytes.Replace(data, []byte(old), []byte(replacement), 1)
}
