package kubeadm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kubeadmv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/localstack/controlplane"
)

const (
	controlPlaneRole    = "node-role.kubernetes.io/control-plane"
	defaultCertificates = "/etc/kubernetes/pki"
	// kubeadm's default for discovery and for TLS bootstrap, each.
	defaultJoinTimeout = 5 * time.Minute
)

// InitConfig is the file for "kubeadm init".
type InitConfig struct {
	Cluster kubeadmv1.ClusterConfiguration
	Init    kubeadmv1.InitConfiguration
}

// ParseInit reads the configuration for "kubeadm init" and applies kubeadm's defaults.
func ParseInit(data []byte) (*InitConfig, error) {
	config := &InitConfig{}
	found, err := decode(data, map[string]any{
		"ClusterConfiguration": &config.Cluster,
		"InitConfiguration":    &config.Init,
	})
	if err != nil {
		return nil, err
	}
	if !found["ClusterConfiguration"] {
		return nil, errors.New("kubeadm configuration without a ClusterConfiguration")
	}
	config.applyDefaults()
	return config, config.validate()
}

// ParseJoin reads the configuration for "kubeadm join", of a worker or (ControlPlane is set) of a control plane machine.
func ParseJoin(data []byte) (*kubeadmv1.JoinConfiguration, error) {
	config := &kubeadmv1.JoinConfiguration{}
	found, err := decode(data, map[string]any{"JoinConfiguration": config})
	if err != nil {
		return nil, err
	}
	if !found["JoinConfiguration"] {
		return nil, errors.New("kubeadm configuration without a JoinConfiguration")
	}
	if config.ControlPlane != nil {
		config.NodeRegistration.Taints = controlPlaneTaints(config.NodeRegistration.Taints)
	}
	discovery := config.Discovery.BootstrapToken
	switch {
	case discovery == nil:
		return nil, errors.New("only discovery by bootstrap token is supported")
	case discovery.APIServerEndpoint == "":
		return nil, errors.New("no discovery.bootstrapToken.apiServerEndpoint")
	case len(discovery.CACertHashes) == 0 && !discovery.UnsafeSkipCAVerification:
		return nil, errors.New("neither caCertHashes nor unsafeSkipCAVerification is set in discovery.bootstrapToken")
	}
	return config, nil
}

// decode reads each YAML document into the target of its kind. Other kinds, such as KubeletConfiguration, are passed over.
func decode(data []byte, targets map[string]any) (found map[string]bool, err error) {
	found = map[string]bool{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read kubeadm configuration: %w", err)
		}
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(document, &meta); err != nil {
			return nil, fmt.Errorf("parse kubeadm configuration: %w", err)
		}
		target, wanted := targets[meta.Kind]
		if !wanted {
			continue
		}
		if want := kubeadmv1.GroupVersion.String(); meta.APIVersion != want {
			return nil, fmt.Errorf("kubeadm %s has apiVersion %q, not %q", meta.Kind, meta.APIVersion, want)
		}
		if err := yaml.Unmarshal(document, target); err != nil {
			return nil, fmt.Errorf("parse kubeadm %s: %w", meta.Kind, err)
		}
		found[meta.Kind] = true
	}
}

func (c *InitConfig) applyDefaults() {
	setDefault(&c.Cluster.APIVersion, kubeadmv1.GroupVersion.String())
	setDefault(&c.Cluster.Kind, "ClusterConfiguration")
	setDefault(&c.Cluster.CertificatesDir, defaultCertificates)
	setDefault(&c.Cluster.ClusterName, "kubernetes")
	setDefault(&c.Cluster.ImageRepository, "registry.k8s.io")
	setDefault(&c.Cluster.Networking.DNSDomain, "cluster.local")
	setDefault(&c.Cluster.Networking.ServiceSubnet, "10.96.0.0/12")
	if c.Cluster.Etcd.Local == nil && c.Cluster.Etcd.External == nil {
		c.Cluster.Etcd.Local = &kubeadmv1.LocalEtcd{DataDir: "/var/lib/etcd"}
	}
	if c.Init.LocalAPIEndpoint.BindPort == 0 {
		c.Init.LocalAPIEndpoint.BindPort = controlplane.APIPort
	}
	c.Init.NodeRegistration.Taints = controlPlaneTaints(c.Init.NodeRegistration.Taints)
}

// controlPlaneTaints keeps workloads away, unless the configuration says something else: an empty list is something else.
func controlPlaneTaints(taints []corev1.Taint) []corev1.Taint {
	if taints != nil {
		return taints
	}
	return []corev1.Taint{{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}}
}

func setDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func (c *InitConfig) validate() error {
	if !strings.HasPrefix(c.Cluster.KubernetesVersion, "v") {
		return fmt.Errorf("kubernetesVersion %q is not of the form v1.2.3", c.Cluster.KubernetesVersion)
	}
	if c.Cluster.Etcd.External != nil {
		return errors.New("an external etcd is not supported")
	}
	if port := c.Init.LocalAPIEndpoint.BindPort; port != controlplane.APIPort {
		return fmt.Errorf("localAPIEndpoint.bindPort %d is not supported, only %d", port, controlplane.APIPort)
	}
	_, _, err := c.Endpoint()
	return err
}

// Endpoint returns the cluster's controlPlaneEndpoint. It is not set (ok is false) for a cluster that lives on one
// machine's own address.
func (c *InitConfig) Endpoint() (endpoint netip.AddrPort, ok bool, err error) {
	if c.Cluster.ControlPlaneEndpoint == "" {
		return netip.AddrPort{}, false, nil
	}
	endpoint, err = ParseEndpoint(c.Cluster.ControlPlaneEndpoint)
	if err != nil {
		return netip.AddrPort{}, false, fmt.Errorf("controlPlaneEndpoint: %w", err)
	}
	return endpoint, true, nil
}

// ParseEndpoint reads the address of an API server; the port may be missing. Names can't be resolved here.
func ParseEndpoint(text string) (netip.AddrPort, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(address, controlplane.APIPort), nil
	}
	return netip.ParseAddrPort(text)
}
