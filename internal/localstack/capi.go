package localstack

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// capiManager is one of Cluster API's managers: a tool, and beside the tools its manifest as kustomize renders it.
type capiManager struct {
	tool     string
	manifest string
	flags    []string
}

var capiManagers = []capiManager{
	{"capi-core", "core.yaml", []string{"--feature-gates=ClusterTopology=true"}},
	{"capi-kubeadm-bootstrap", "bootstrap-kubeadm.yaml", nil},
	{"capi-kubeadm-control-plane", "control-plane-kubeadm.yaml", []string{"--feature-gates=ClusterTopology=true"}},
}

func capiTools() []string {
	var names []string
	for _, m := range capiManagers {
		names = append(names, m.tool, filepath.Join("manifests", m.manifest))
	}
	return names
}

// webhookServer is how the API server reaches the webhooks of one manager.
type webhookServer struct {
	url string // without path
	ca  []byte
}

// startCAPI installs Cluster API's CRDs and webhooks and runs its managers, as administrators.
func (s *Stack) startCAPI(ctx context.Context) error {
	certDir, ca, err := s.createWebhookCertificate()
	if err != nil {
		return err
	}
	ports := make([]int, len(capiManagers))
	install, installCtx := errgroup.WithContext(ctx)
	for i, m := range capiManagers {
		if ports[i], err = s.block.Port(); err != nil {
			return err
		}
		install.Go(func() error {
			return s.installCAPI(installCtx, m, webhookServer{fmt.Sprintf("https://127.0.0.1:%d", ports[i]), ca})
		})
	}
	if err := install.Wait(); err != nil {
		return err
	}
	start, startCtx := errgroup.WithContext(ctx)
	for i, m := range capiManagers {
		start.Go(func() error { return s.startCAPIManager(startCtx, m, i, ports[i], certDir) })
	}
	return start.Wait()
}

func (s *Stack) createWebhookCertificate() (dir string, ca []byte, err error) {
	dir = filepath.Join(s.cfg.Dir, "webhooks")
	authority, err := pki.NewAuthority("webhooks")
	if err != nil {
		return "", nil, err
	}
	pair, err := authority.Sign(pki.Leaf{
		CommonName: "webhooks", IPs: []net.IP{net.IPv4(127, 0, 0, 1)},
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return "", nil, err
	}
	return dir, authority.CertPEM(), pki.Dir(dir).Write("tls", pair)
}

// installCAPI creates what a manager needs in the API. Its Deployment and RBAC are left out: the manager runs as a child
// and as an administrator.
func (s *Stack) installCAPI(ctx context.Context, m capiManager, server webhookServer) error {
	data, err := os.ReadFile(s.cfg.Tools.Path("manifests", m.manifest))
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	objects, err := decode(data)
	if err != nil {
		return fmt.Errorf("read %s: %w", m.manifest, err)
	}
	objects = onlyKinds(objects, "Namespace", "CustomResourceDefinition",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
	for _, object := range objects {
		server.serve(object)
	}
	return s.install(ctx, objects)
}

func (s *Stack) startCAPIManager(ctx context.Context, m capiManager, index, webhookPort int, certDir string) error {
	health := fmt.Sprintf("%s:%d", s.managementAddress(), 9440+index)
	return s.start(ctx, process.Command{
		Name: m.tool, Path: s.cfg.Tools.Path(m.tool),
		Args: append([]string{
			"--kubeconfig=" + s.Kubeconfig(),
			fmt.Sprintf("--webhook-port=%d", webhookPort),
			"--webhook-cert-dir=" + certDir,
			"--health-addr=" + health,
			"--diagnostics-address=0", // nobody reads its metrics
		}, m.flags...),
	}, answersOK("http://"+health+"/readyz"))
}

// managementAddress is the address of the management cluster and of its managers.
func (s *Stack) managementAddress() string { return s.block.Address(254, 1).String() }
