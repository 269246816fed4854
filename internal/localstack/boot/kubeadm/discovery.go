package kubeadm

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/token/jws"
	kubeadmv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"
)

const (
	discoveryInterval = time.Second
	requestTimeout    = 10 * time.Second
)

// discover learns the cluster's CA from its cluster-info, which is worth trusting only because it is signed with the
// bootstrap token and its CA is pinned. While the control plane isn't there yet it asks again, until the timeout. It
// returns a client configuration that trusts the cluster but has no identity yet.
func discover(ctx context.Context, discovery *kubeadmv1.BootstrapTokenDiscovery, timeout time.Duration) (*rest.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	token, err := kubeadmv1.NewBootstrapTokenString(discovery.Token)
	if err != nil {
		return nil, errors.New("discovery.bootstrapToken.token is not a bootstrap token")
	}
	server := "https://" + discovery.APIServerEndpoint
	insecure := &rest.Config{Host: server, Timeout: requestTimeout, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	info, err := clusterInfo(ctx, insecure, token.ID)
	if err != nil {
		return nil, err
	}
	if !jws.DetachedTokenIsValid(info.signature, info.kubeconfig, token.ID, token.Secret) {
		return nil, errors.New("cluster-info is not signed with this machine's bootstrap token: this API server can't be trusted")
	}
	cluster, err := info.cluster()
	if err != nil {
		return nil, err
	}
	if len(discovery.CACertHashes) > 0 {
		if err := checkPins(cluster.CertificateAuthorityData, discovery.CACertHashes); err != nil {
			return nil, err
		}
	}
	secure := &rest.Config{
		Host: server, Timeout: requestTimeout,
		TLSClientConfig: rest.TLSClientConfig{CAData: cluster.CertificateAuthorityData},
	}
	again, err := clusterInfo(ctx, secure, token.ID)
	if err != nil {
		return nil, err
	}
	if again.kubeconfig != info.kubeconfig {
		return nil, errors.New("cluster-info read over the verified connection differs from the first one")
	}
	secure.Host = cluster.Server
	return secure, nil
}

// signedInfo is the content of the ConfigMap cluster-info.
type signedInfo struct {
	kubeconfig, signature string
}

// clusterInfo asks until it gets cluster-info with a signature for the token. Both appear a moment after the cluster and
// the token do.
func clusterInfo(ctx context.Context, config *rest.Config, tokenID string) (info signedInfo, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return info, fmt.Errorf("client for discovery: %w", err)
	}
	var last error
	deadline, _ := ctx.Deadline() // discover's
	err = wait.PollUntilContextCancel(ctx, discoveryInterval, true, func(ctx context.Context) (bool, error) {
		read, err := readClusterInfo(ctx, client, tokenID)
		if err == nil || last == nil || time.Now().Before(deadline) { // an attempt cut short says nothing about the cluster
			info, last = read, err
		}
		return err == nil, nil
	})
	if err != nil {
		return info, fmt.Errorf("read cluster-info from %s: %w (%w)", config.Host, last, err)
	}
	return info, nil
}

func readClusterInfo(ctx context.Context, client kubernetes.Interface, tokenID string) (signedInfo, error) {
	configMap, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).
		Get(ctx, bootstrapapi.ConfigMapClusterInfo, metav1.GetOptions{})
	if err != nil {
		return signedInfo{}, err
	}
	signature, ok := configMap.Data[bootstrapapi.JWSSignatureKeyPrefix+tokenID]
	if !ok {
		return signedInfo{}, errors.New("it has no signature for this machine's bootstrap token")
	}
	return signedInfo{kubeconfig: configMap.Data[bootstrapapi.KubeConfigKey], signature: signature}, nil
}

func (i signedInfo) cluster() (*clientcmdapi.Cluster, error) {
	config, err := clientcmd.Load([]byte(i.kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("parse the kubeconfig of cluster-info: %w", err)
	}
	for _, cluster := range config.Clusters {
		return cluster, nil
	}
	return nil, errors.New("the kubeconfig of cluster-info names no cluster")
}

// checkPins fails unless one of the CA certificates has a pinned public key.
func checkPins(ca []byte, pins []string) error {
	certificates, err := cert.ParseCertsPEM(ca)
	if err != nil {
		return fmt.Errorf("parse the CA of cluster-info: %w", err)
	}
	pinned := func(c *x509.Certificate) bool {
		return slices.ContainsFunc(pins, func(pin string) bool { return strings.EqualFold(pin, pinOf(c)) })
	}
	if !slices.ContainsFunc(certificates, pinned) {
		return errors.New("the cluster's CA has none of the public keys pinned in caCertHashes: this API server can't be trusted")
	}
	return nil
}

func pinOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}
