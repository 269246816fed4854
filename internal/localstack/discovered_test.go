package localstack

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/bedplate/bedplate/internal/localstack/manifest"
)

func machineSets(g Gomega) []*unstructured.Unstructured {
	crds, err := manifest.Decode([]byte(`
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata: {name: machinesets.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  names: {kind: MachineSet, plural: machinesets}
  versions:
  - {name: v1beta1, served: true, storage: true}`))
	g.Expect(err).NotTo(HaveOccurred())
	return crds
}

func discoveryOf(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var answer any
	version := metav1.GroupVersionForDiscovery{GroupVersion: "cluster.x-k8s.io/v1beta1", Version: "v1beta1"}
	switch r.URL.Path {
	case "/api":
		answer = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}}
	case "/apis":
		answer = metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList"}, Groups: []metav1.APIGroup{{
			Name: "cluster.x-k8s.io", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
		}}}
	default:
		answer = metav1.APIResourceList{GroupVersion: version.GroupVersion, APIResources: []metav1.APIResource{{Name: "machinesets", Kind: "MachineSet"}}}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// An API server under load answers one of its calls with an error.
func TestDiscovered_survivesAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		discoveryOf(w, r)
	}))
	defer server.Close()
	g.Expect(discovered(t.Context(), &rest.Config{Host: server.URL}, machineSets(g))).To(Succeed())
}

// A lab that is interrupted ends.
func TestDiscovered_endsWithItsContext(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- discovered(ctx, &rest.Config{Host: server.URL}, machineSets(g)) }()
	g.Eventually(ended).WithTimeout(discoveredIn / 3).Should(Receive(HaveOccurred()))
}
