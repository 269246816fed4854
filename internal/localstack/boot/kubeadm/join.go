package kubeadm

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509/pkix"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"
	kubeadmv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// Join makes the machine a worker or one more control plane machine of the cluster that its configuration names, and
// returns when its Node is Ready. After an error nothing is left running.
func Join(ctx context.Context, host Host, config *kubeadmv1.JoinConfiguration) (*Node, error) {
	node, err := registration(host, config.NodeRegistration)
	if err != nil {
		return nil, err
	}
	host.Console.Info("looking for the cluster", "endpoint", config.Discovery.BootstrapToken.APIServerEndpoint)
	discoveryTimeout, bootstrapTimeout := joinTimeouts(config.Timeouts)
	trusted, err := discover(ctx, config.Discovery.BootstrapToken, discoveryTimeout)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bootstrapTimeout)
	defer cancel()

	trusted.BearerToken = config.Discovery.TLSBootstrapToken
	if trusted.BearerToken == "" {
		trusted.BearerToken = config.Discovery.BootstrapToken.Token
	}
	client, err := kubernetes.NewForConfig(trusted)
	if err != nil {
		return nil, fmt.Errorf("client with the bootstrap token: %w", err)
	}
	if err := checkNameIsFree(ctx, client, node.Name); err != nil {
		return nil, err
	}
	cluster, err := clusterConfiguration(ctx, client)
	if err != nil {
		return nil, err
	}
	// A machine image made for this cluster would bring its kubelet in this version.
	node.Version = cluster.KubernetesVersion
	host.Console.Info("requesting a certificate", "node", node.Name)
	kubeconfig := host.Path(kubeletConf)
	if err := bootstrapTLS(ctx, client, trusted, node.Name, kubeconfig); err != nil {
		return nil, err
	}
	if config.ControlPlane != nil {
		return joinControlPlane(ctx, host, joinedConfig(cluster, config), node)
	}
	k, err := kubelet.Start(ctx, kubelet.Config{
		Registration: node, Kubeconfig: kubeconfig, Dir: host.State, Tools: host.Tools,
	})
	if err != nil {
		return nil, err
	}
	return &Node{Processes: []*process.Process{k.Process()}}, nil
}

func joinTimeouts(timeouts *kubeadmv1.Timeouts) (discovery, bootstrap time.Duration) {
	discovery, bootstrap = defaultJoinTimeout, defaultJoinTimeout
	if timeouts != nil && timeouts.Discovery != nil {
		discovery = timeouts.Discovery.Duration
	}
	if timeouts != nil && timeouts.TLSBootstrap != nil {
		bootstrap = timeouts.TLSBootstrap.Duration
	}
	return discovery, bootstrap
}

// checkNameIsFree refuses, as kubeadm does, to take over the Node of a machine that is still Ready.
func checkNameIsFree(ctx context.Context, client kubernetes.Interface, name string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for a node %s: %w", name, err)
	}
	if util.IsNodeReady(node) {
		return fmt.Errorf("a node %s already exists and is Ready", name)
	}
	return nil
}

// clusterConfiguration reads the configuration that "kubeadm init" got for the cluster.
func clusterConfiguration(ctx context.Context, client kubernetes.Interface) (*kubeadmv1.ClusterConfiguration, error) {
	configMap, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, configMapName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the cluster's configuration: %w", err)
	}
	config := &kubeadmv1.ClusterConfiguration{}
	if err := yaml.Unmarshal([]byte(configMap.Data[configMapKey]), config); err != nil {
		return nil, fmt.Errorf("parse the cluster's configuration: %w", err)
	}
	return config, nil
}

// bootstrapTLS has a new key certified by the cluster and writes the kubelet's kubeconfig with it.
func bootstrapTLS(ctx context.Context, client kubernetes.Interface, trusted *rest.Config, name, path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate the kubelet's key: %w", err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return fmt.Errorf("encode the kubelet's key: %w", err)
	}
	user := "system:node:" + name
	request, err := cert.MakeCSR(key, &pkix.Name{CommonName: user, Organization: []string{"system:nodes"}}, nil, nil)
	if err != nil {
		return fmt.Errorf("make the certificate request: %w", err)
	}
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	requestName, uid, err := csr.RequestCertificateWithContext(ctx, client, request, "",
		certificatesv1.KubeAPIServerClientKubeletSignerName, nil, usages, key)
	if err != nil {
		return fmt.Errorf("request the kubelet's certificate: %w", err)
	}
	certificate, err := csr.WaitForCertificate(ctx, client, requestName, uid)
	if err != nil {
		return fmt.Errorf("wait for the kubelet's certificate: %w", err)
	}
	const cluster = "default-cluster"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[cluster] = &clientcmdapi.Cluster{Server: trusted.Host, CertificateAuthorityData: trusted.CAData}
	kubeconfig.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: keyPEM}
	kubeconfig.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	kubeconfig.CurrentContext = cluster
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("write the kubelet's kubeconfig: %w", err)
	}
	return nil
}
