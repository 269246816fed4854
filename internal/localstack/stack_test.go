package localstack_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

func TestStack_isAManagementClusterForBMM(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // as long as a lab's
	defer cancel()

	dir, began := t.TempDir(), time.Now()
	stack, err := localstack.Start(ctx, localstack.Config{
		Dir: dir, Tools: toolstest.Find(t, append(localstack.Tools(), "bedplate")...),
		Observe: func(s localstack.Step) { t.Logf("%5.1fs %+v", time.Since(began).Seconds(), s) },
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(stack.Stop)
	bmm, err := stack.StartBMM(ctx)
	g.Expect(err).NotTo(HaveOccurred())

	t.Run("Cluster API's webhooks are asked", func(t *testing.T) {
		g := NewWithT(t)
		empty := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "empty"}}
		empty.Spec.Paused = new(true)
		err := stack.Client().Create(ctx, empty)
		g.Expect(err).To(MatchError(ContainSubstring(`admission webhook "validation.cluster.cluster.x-k8s.io" denied`)))
	})
	t.Run("Bedplate's webhooks are asked", func(t *testing.T) {
		g := NewWithT(t)
		overlapping := &unstructured.Unstructured{}
		g.Expect(yaml.Unmarshal([]byte(`
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: NvidiaBMMCluster
metadata: {namespace: default, name: overlapping}
spec:
  siteRef: {name: lab}
  tenantID: `+bmm.TenantID+`
  authentication: {secretRef: {name: bmm}}
  subnets: [{name: a, cidr: 10.0.0.0/16}, {name: b, cidr: 10.0.0.0/24}]
`), &overlapping.Object)).To(Succeed())
		err := stack.Client().Create(ctx, overlapping)
		g.Expect(err).To(MatchError(ContainSubstring(`admission webhook "validation.nvidiabmmcluster.infrastructure.cluster.x-k8s.io" denied`)))
	})
	t.Run("the simulator knows the tenant's token and no other", func(t *testing.T) {
		g := NewWithT(t)
		site := bmm.URL + "/v2/org/" + bmm.Org + "/carbide/site/" + bmm.SiteID
		g.Expect(status(ctx, site, bmm.Token)).To(Equal(http.StatusOK))
		g.Expect(status(ctx, site, "guessed")).To(Equal(http.StatusUnauthorized))
	})
	t.Run("the manager has only its own rights", func(t *testing.T) {
		g := NewWithT(t)
		manager := clientFrom(g, filepath.Join(dir, "bmm-manager.kubeconfig"))
		g.Expect(manager.List(ctx, &corev1.SecretList{})).To(Succeed())
		g.Expect(apierrors.IsForbidden(manager.List(ctx, &corev1.ConfigMapList{}))).To(BeTrue())
	})
	t.Run("metrics are for those who may get them", func(t *testing.T) {
		g := NewWithT(t)
		metrics := "https://" + stack.Block().Address(254, 1).String() + ":9451/metrics"
		answers := func(token string, code int) {
			t.Helper()
			g.Eventually(func() (int, error) { return status(ctx, metrics, token) }, time.Minute, 100*time.Millisecond).Should(Equal(code))
		}
		answers("", http.StatusUnauthorized)
		answers(tokenOf(ctx, g, stack.Client(), "stranger"), http.StatusForbidden)
		token := tokenOf(ctx, g, stack.Client(), "prometheus")
		g.Expect(stack.Client().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "bedplate-bmm-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "prometheus"}},
		})).To(Succeed())
		answers(token, http.StatusOK)
	})
	t.Run("a manager killed is a manager restarted", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(stack.Kill(localstack.BMMManager)).To(Succeed())
		g.Expect(stack.Restart(ctx, localstack.BMMManager)).To(Succeed())
		for len(stack.Crashes()) > 0 { // on a busy computer a manager may have lost its lease before
			g.Expect(<-stack.Crashes()).NotTo(MatchError(ContainSubstring("signal: killed")), "this end was asked for")
		}
	})
}

// tokenOf makes a service account and returns a token of it.
func tokenOf(ctx context.Context, g *WithT, c client.Client, name string) string {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	g.Expect(c.Create(ctx, account)).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	g.Expect(c.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// insecure because the managers' certificates are their own.
var insecure = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

func status(ctx context.Context, url, token string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := insecure.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func clientFrom(g *WithT, kubeconfig string) client.Client {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}
