package manager

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/testenv"
)

// options of a command line, with an API server.
func options(t *testing.T, args ...string) *Options {
	t.Helper()
	o := &Options{Name: "test", Kubeconfig: testenv.Kubeconfig(t)}
	command := o.command("", nil)
	o.addControllerFlags(command.Flags())
	o.addEngineFlags(command.Flags())
	NewWithT(t).Expect(command.ParseFlags(append(args, "--kubeconfig="+testenv.Kubeconfig(t)))).To(Succeed())
	return o
}

func TestEgressPolicy_refusesTheClustersOwnServices(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	own := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}
	g.Eventually(func() error { return testenv.Client(t).Get(t.Context(), client.ObjectKeyFromObject(own), own) }, time.Minute).Should(Succeed())
	service := &url.URL{Scheme: "https", Host: own.Spec.ClusterIP}
	elsewhere := &url.URL{Scheme: "https", Host: "203.0.113.7"}
	for _, row := range []struct {
		args      []string
		service   bool
		elsewhere bool
	}{
		{nil, false, true},
		{[]string{"--cluster-cidrs=203.0.113.0/24"}, true, false}, // in place of what the API server says
		{[]string{"--allowed-endpoints=" + service.Host}, true, false},
		{[]string{"--allowed-endpoints=203.0.113.7"}, false, true},
	} {
		policy, err := options(t, row.args...).EgressPolicy(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(policy.CheckURL(service) == nil).To(Equal(row.service), "%v", row.args)
		g.Expect(policy.CheckURL(elsewhere) == nil).To(Equal(row.elsewhere), "%v", row.args)
	}
}

// A list is of BMM APIs. What isn't one, such as the server of a kubeconfig, must not lead to the cluster's own Services either.
func TestEgressPolicy_withAListRefusesTheClustersOwnServicesToTheRest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	own := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}}
	g.Eventually(func() error { return testenv.Client(t).Get(t.Context(), client.ObjectKeyFromObject(own), own) }, time.Minute).Should(Succeed())
	policy, err := options(t, "--allowed-endpoints=bmm.example.com").EgressPolicy(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	rest := policy.WithoutList()
	g.Expect(rest.CheckURL(&url.URL{Scheme: "https", Host: own.Spec.ClusterIP})).NotTo(Succeed())
	g.Expect(rest.CheckURL(&url.URL{Scheme: "https", Host: "203.0.113.7"})).To(Succeed())
}

// Before Kubernetes 1.33 the API server doesn't report the ranges. If they can't be read for another reason, that
// doesn't mean that there are none.
func TestEgressPolicy_withoutRangesOfServices(t *testing.T) {
	for _, row := range []struct {
		status int
		ranges []netip.Prefix
		fails  string
	}{
		{http.StatusNotFound, []netip.Prefix{netip.MustParsePrefix("10.43.0.1/32")}, ""},
		{http.StatusForbidden, nil, "list the ranges of Services (or name them with --cluster-cidrs): "},
		{http.StatusInternalServerError, nil, "list the ranges of Services"},
	} {
		t.Setenv("KUBERNETES_SERVICE_HOST", "10.43.0.1")
		g := NewWithT(t)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(row.status) }))
		ranges, err := serviceRanges(t.Context(), &rest.Config{Host: server.URL})
		server.Close()
		if row.fails != "" {
			g.Expect(err).To(MatchError(HavePrefix(row.fails)))
			continue
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ranges).To(Equal(row.ranges))
	}
}
