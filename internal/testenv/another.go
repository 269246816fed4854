package testenv

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// APIServer is another one than that of Config, for one test, which may stop it.
type APIServer struct {
	env *envtest.Environment
	// Kubeconfig of an administrator.
	Kubeconfig []byte
	// Client of an administrator, without a cache.
	Client client.WithWatch
	Config *rest.Config
}

// Another API server, with the CRDs in the files or folders of config, such as dpf/crd/bases.
func Another(t testing.TB, crds ...string) *APIServer {
	t.Helper()
	g := NewWithT(t)
	config := filepath.Join(tools.ModuleRoot("."), "config")
	for i := range crds {
		crds[i] = filepath.Join(config, crds[i])
	}
	bin := toolstest.Find(t, "etcd", "kube-apiserver")
	s := &APIServer{env: environment(bin, envtest.CRDInstallOptions{Paths: crds, ErrorIfPathMissing: true})}
	var err error
	s.Config, err = s.env.Start()
	t.Cleanup(s.Stop)
	g.Expect(err).NotTo(HaveOccurred())
	s.Config.QPS, s.Config.Burst = -1, -1
	user, err := s.env.AddUser(envtest.User{Name: "administrator", Groups: []string{"system:masters"}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	s.Kubeconfig, err = user.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	s.Client, err = client.NewWithWatch(s.Config, client.Options{Scheme: Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	return s
}

// AddCRDs of files or folders to an API server, and return how many there are when its discovery has their kinds: that is later than they
// are established. A path that isn't absolute is one below config.
func AddCRDs(t testing.TB, to *rest.Config, paths ...string) int {
	t.Helper()
	for i := range paths {
		if !filepath.IsAbs(paths[i]) {
			paths[i] = filepath.Join(tools.ModuleRoot("."), "config", paths[i])
		}
	}
	added, err := envtest.InstallCRDs(to, envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true, MaxTime: startTimeout})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return len(added)
}

// Stop it for good.
func (s *APIServer) Stop() { _ = s.env.Stop() }
