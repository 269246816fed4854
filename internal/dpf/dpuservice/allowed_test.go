package dpuservice_test

import (
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/sim/kamaji"
	"github.com/bedplate/bedplate/internal/testenv"
)

// A manager that starts finds the kubeconfigs before it has asked whether their clusters are allowed.
func TestService_leavesAClusterAsItIsUntilItIsKnownToBeAllowed(t *testing.T) {
	t.Parallel()
	f := idle(t)
	s := &svcv1.DPUService{}
	t.Run("before", func(now *testing.T) {
		f.t = now
		defer func() { f.t = t }()
		f.start(testenv.Config(now))
		f.cluster("a", f.itself())
		s = f.service(f.users, "s", nil)
		f.Eventually(f.ready(s)).Should(Equal("True"))
		kamaji.Allow(now, f.Client, f.users, false)
		f.Eventually(f.ready(s)).Should(ContainSubstring("there is no DPU cluster"))
	})
	f.change(s, func() { s.Spec.HelmChart.Source.Version = "2" })
	config := testenv.Config(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && r.URL.Path == "/api/v1/namespaces/"+f.users {
				return nil, errors.New("it doesn't answer")
			}
			return next.RoundTrip(r)
		})
	})
	f.start(config)
	f.Eventually(f.condition(s, svcv1.ApplicationPrereqsReconciledCondition)).Should(ContainSubstring("/a: it isn't connected yet"))
	version := func() string {
		version, _, _ := unstructured.NestedString(f.applications()["a/"+f.users].Object, "spec", "source", "targetRevision")
		return version
	}
	f.Consistently(version, still).Should(Equal("1"))
	f.Expect(f.condition(s, svcv1.ApplicationsReconciledCondition)()).To(ContainSubstring("Argo CD doesn't know all clusters yet"))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
