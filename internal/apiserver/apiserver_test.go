package apiserver_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bedplate/bedplate/internal/apiserver"
)

func kubeconfigOf(g Gomega, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) []byte {
	config := clientcmdapi.NewConfig()
	config.Clusters["c"], config.AuthInfos["u"] = cluster, user
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	data, err := clientcmd.Write(*config)
	g.Expect(err).NotTo(HaveOccurred())
	return data
}

// A tenant may write the Secret. With what client-go does of itself the first row runs a program in the manager's container, and
// the second sends the manager's own token to the tenant.
func TestConfig_runsAndReadsNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ran, file := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "token")
	g.Expect(os.WriteFile(file, []byte("the manager's own"), 0o600)).To(Succeed())
	const secret = "s3cret-value"
	for name, change := range map[string]func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo){
		"a program": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: "touch", Args: []string{ran},
				InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			}
		},
		"a token's file": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.TokenFile = file },
		"a plugin": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
		},
		"a certificate's file": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientCertificate = file },
		"a key's file":         func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientKey = file },
		"an authority's file":  func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthority = file },
		"a proxy":              func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.ProxyURL = "http://127.0.0.1:1" },
		"http":                 func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "http://127.0.0.1:15000/quit" },
		"a socket":             func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "unix:///run/x" },
		"no verification":      func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.InsecureSkipTLSVerify = true },
		"the system's roots":   func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthorityData = nil },
	} {
		cluster := &clientcmdapi.Cluster{Server: "https://127.0.0.1:6443", CertificateAuthorityData: []byte("pem")}
		user := &clientcmdapi.AuthInfo{Token: secret}
		change(cluster, user)
		_, err := apiserver.Config(kubeconfigOf(g, cluster, user))
		g.Expect(err).To(HaveOccurred(), name)
		g.Expect(err.Error()).NotTo(Or(ContainSubstring(secret), ContainSubstring(file), ContainSubstring("127.0.0.1")), name)
	}
	for _, text := range []string{"", "x", "{}", "current-context: a", "a: &a [*a]", strings.Repeat("[", 1<<16)} {
		_, err := apiserver.Config([]byte(text))
		g.Expect(err).To(HaveOccurred(), text[:min(len(text), 20)])
	}
	g.Expect(ran).NotTo(BeAnExistingFile())
	config, err := apiserver.Config(kubeconfigOf(g, &clientcmdapi.Cluster{
		Server: "https://127.0.0.1:6443", CertificateAuthorityData: []byte("pem"),
	}, &clientcmdapi.AuthInfo{Token: secret}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.BearerToken).To(Equal(secret))
}

// A tenant may write the Secret: 35 KB of aliases would take hundreds of MiB, and as many as fit into a Secret all there is.
func TestConfig_hasNoAliases(t *testing.T) {
	g := NewWithT(t)
	text := "apiVersion: v1\nkind: Config\nx: [&a '" + strings.Repeat("y", 20_000) + "'" + strings.Repeat(",*a", 5_000) + "]\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := apiserver.Config([]byte(text))
	runtime.ReadMemStats(&after)
	g.Expect(err).To(MatchError(ContainSubstring("has an alias of YAML")))
	g.Expect((after.TotalAlloc - before.TotalAlloc) >> 20).To(BeNumerically("<", 20))
	_, err = apiserver.Config([]byte(strings.Repeat("#", 256<<10) + "\n"))
	g.Expect(err).To(MatchError("it has more than 256 KiB"))
}
