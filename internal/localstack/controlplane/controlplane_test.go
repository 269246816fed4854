package controlplane_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// patience is for what a control plane does by itself, also where others have the processors.
const patience = 5 * time.Minute

func config(t *testing.T) controlplane.Config {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	block, err := loopback.Claim()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(block.Close)
	cfg := controlplane.Config{
		Name: "test", Dir: dir, PKI: pki.Dir(filepath.Join(dir, "pki")), Tools: toolstest.Find(t, controlplane.Tools...),
		Address: block.Address(254, 1),
	}
	g.Expect(cfg.PKI.CreateAuthorities()).To(Succeed())
	return cfg
}

func TestStart_servesKubernetesWithItsControllers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cfg := config(t)
	began := time.Now()
	cp, err := controlplane.Start(ctx, cfg)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(cp.Stop)
	t.Logf("ready after %s", time.Since(began))

	admin, err := kubernetes.NewForConfig(cp.AdminConfig())
	g.Expect(err).NotTo(HaveOccurred())
	namespaces := admin.CoreV1().Namespaces()
	_, err = namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error {
		_, err := admin.CoreV1().ServiceAccounts("short-lived").Get(ctx, "default", metav1.GetOptions{})
		return err
	}).WithTimeout(patience).Should(Succeed(), "the service account controller works")
	g.Expect(namespaces.Delete(ctx, "short-lived", metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(func() bool {
		_, err := namespaces.Get(ctx, "short-lived", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}).WithTimeout(patience).Should(BeTrue(), "the namespace controller works")

	path := filepath.Join(cfg.Dir, "nobody.conf")
	g.Expect(cp.WriteServiceAccountKubeconfig(path, "default", "nobody")).To(Succeed())
	info, err := os.Stat(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	restConfig, err := clientcmd.BuildConfigFromFlags("", path)
	g.Expect(err).NotTo(HaveOccurred())
	nobody, err := kubernetes.NewForConfig(restConfig)
	g.Expect(err).NotTo(HaveOccurred())
	self, err := nobody.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(self.Status.UserInfo.Username).To(Equal("system:serviceaccount:default:nobody"))
	g.Expect(self.Status.UserInfo.Groups).To(ContainElements("system:serviceaccounts", "system:serviceaccounts:default"))
	_, err = nobody.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{})
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "RBAC is enforced: %v", err)

	cp.Stop()
	for _, p := range cp.Processes() {
		g.Expect(p.Done()).To(BeClosed(), p.Name())
	}
}

func TestStart_reportsTheEndOfTheLogWhenAPortIsBusy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cfg := config(t)
	busy, err := net.Listen("tcp", net.JoinHostPort(cfg.Address.String(), "2380"))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = busy.Close() })
	_, err = controlplane.Start(ctx, cfg)
	g.Expect(err).To(MatchError(And(ContainSubstring("etcd ended"), ContainSubstring("address already in use"))))
}

func TestStart_refusesACAWhoseKeyBelongsToAnother(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	cfg := config(t)
	other, err := os.ReadFile(cfg.PKI.Key(pki.FrontProxyCA))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(cfg.PKI.Key(pki.EtcdCA), other, 0o600)).To(Succeed())
	_, err = controlplane.Start(t.Context(), cfg)
	g.Expect(err).To(MatchError(And(ContainSubstring("read CA etcd/ca"), ContainSubstring("private key does not match"))))
}
