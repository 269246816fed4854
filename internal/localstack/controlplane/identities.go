package controlplane

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bedplate/bedplate/internal/localstack/pki"
)

const (
	adminUser  = "kubernetes-admin"
	adminGroup = "system:masters"
)

var (
	clientAuth = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	serverAuth = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	bothAuth   = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
)

// signLeaves adds the certificates that are missing in the PKI folder, with kubeadm's names and subjects.
func signLeaves(c Config) error {
	sans, err := apiserverSANs(c)
	if err != nil {
		return err
	}
	etcdSANs := altNames{dns: []string{"localhost", c.Member}, ips: []net.IP{c.Address.AsSlice()}}
	leaves := []struct {
		name, authority string
		leaf            pki.Leaf
	}{
		{"etcd/server", pki.EtcdCA, etcdSANs.leaf(c.Member, bothAuth)},
		{"etcd/peer", pki.EtcdCA, etcdSANs.leaf(c.Member, bothAuth)},
		{"apiserver-etcd-client", pki.EtcdCA, pki.Leaf{CommonName: "kube-apiserver-etcd-client", Usages: clientAuth}},
		{"apiserver", pki.ClusterCA, sans.leaf("kube-apiserver", serverAuth)},
		{"apiserver-kubelet-client", pki.ClusterCA, pki.Leaf{
			CommonName: "kube-apiserver-kubelet-client", Organizations: []string{"system:masters"}, Usages: clientAuth}},
		{"front-proxy-client", pki.FrontProxyCA, pki.Leaf{CommonName: "front-proxy-client", Usages: clientAuth}},
	}
	for _, l := range leaves {
		if err := signLeaf(c.PKI, l.name, l.authority, l.leaf); err != nil {
			return err
		}
	}
	return nil
}

func signLeaf(dir pki.Dir, name, authority string, leaf pki.Leaf) error {
	if _, err := os.Stat(dir.Cert(name)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ca, err := dir.Authority(authority)
	if err != nil {
		return err
	}
	pair, err := ca.Sign(leaf)
	if err != nil {
		return err
	}
	return dir.Write(name, pair)
}

// altNames are what a server answers to.
type altNames struct {
	dns []string
	ips []net.IP
}

func (a altNames) leaf(commonName string, usages []x509.ExtKeyUsage) pki.Leaf {
	return pki.Leaf{CommonName: commonName, DNSNames: a.dns, IPs: a.ips, Usages: usages}
}

func apiserverSANs(c Config) (altNames, error) {
	sans := altNames{
		dns: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local"},
		ips: []net.IP{c.Address.AsSlice()},
	}
	services, err := netip.ParsePrefix(c.ServiceCIDR)
	if err != nil {
		return altNames{}, fmt.Errorf("service CIDR: %w", err)
	}
	host, _, err := net.SplitHostPort(c.Endpoint)
	if err != nil {
		return altNames{}, fmt.Errorf("endpoint: %w", err)
	}
	first := services.Masked().Addr().Next() // of Service kubernetes
	for _, name := range append([]string{first.String(), host}, c.ExtraSANs...) {
		if ip := net.ParseIP(name); ip != nil {
			sans.ips = append(sans.ips, ip)
		} else {
			sans.dns = append(sans.dns, name)
		}
	}
	return sans, nil
}

// AdminConfig returns a client configuration of a cluster administrator, for exactly this API server.
func (c *ControlPlane) AdminConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// Config returns a client configuration of the given user, authenticated by a client certificate. It talks to the
// endpoint of the cluster.
func (c *ControlPlane) Config(user string, groups ...string) (*rest.Config, error) {
	return c.cfg.clientConfig(c.cfg.Endpoint, user, groups...)
}

// WriteKubeconfig writes a kubeconfig of the given user to a file that only its owner can read. The user's proof is a
// client certificate; the server is the endpoint of the cluster.
func (c *ControlPlane) WriteKubeconfig(path, user string, groups ...string) error {
	config, err := c.Config(user, groups...)
	if err != nil {
		return err
	}
	return c.write(path, config, user)
}

// WriteServiceAccountKubeconfig is WriteKubeconfig for a user with the rights of a service account.
func (c *ControlPlane) WriteServiceAccountKubeconfig(path, namespace, name string) error {
	return c.WriteKubeconfig(path, "system:serviceaccount:"+namespace+":"+name,
		"system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

// localConfig talks to this machine's API server even when the endpoint is a load balancer in front of several.
func (c *ControlPlane) localConfig(user string, groups ...string) (*rest.Config, error) {
	return c.cfg.clientConfig(hostPort(c.cfg.Address, APIPort), user, groups...)
}

func (c *ControlPlane) writeLocalKubeconfig(path, user string) error {
	config, err := c.localConfig(user)
	if err != nil {
		return err
	}
	return c.write(path, config, user)
}

// AdminConfig returns a client configuration of a cluster administrator at the cluster's endpoint, before this machine's
// control plane runs.
func (c Config) AdminConfig() (*rest.Config, error) {
	return c.clientConfig(c.Endpoint, adminUser, adminGroup)
}

func (c Config) clientConfig(server, user string, groups ...string) (*rest.Config, error) {
	ca, err := c.PKI.Authority(pki.ClusterCA)
	if err != nil {
		return nil, err
	}
	pair, err := ca.Sign(pki.Leaf{CommonName: user, Organizations: groups, Usages: clientAuth})
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: "https://" + server,
		// A lab's clients are few and want answers now.
		QPS: 100, Burst: 200,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca.CertPEM(), CertData: pair.Cert, KeyData: pair.Key},
	}, nil
}

func (c *ControlPlane) write(path string, config *rest.Config, user string) error {
	name := c.cfg.Name
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	kubeconfig.CurrentContext = name
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
