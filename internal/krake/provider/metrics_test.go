package provider_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/provider"
	"github.com/bedplate/bedplate/internal/waiting"
)

func TestStates_countClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(provider.AddToScheme(scheme)).To(Succeed())
	in := func(namespace, name string, state krakev1.ClusterState) client.Object {
		return &krakev1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: krakev1.ClusterStatus{State: state},
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&krakev1.Cluster{}).WithObjects(
		in("blue", "a", krakev1.StateOnline), in("red", "a", krakev1.StateOnline), in("red", "b", krakev1.StateFailed), in("red", "new", ""),
	).Build()
	g.Expect(testutil.CollectAndCompare(provider.NewStates(c), strings.NewReader(`
# HELP bedplate_krake_clusters Number of Clusters by state.
# TYPE bedplate_krake_clusters gauge
bedplate_krake_clusters{state="CONNECTING"} 0
bedplate_krake_clusters{state="CREATING"} 0
bedplate_krake_clusters{state="DEGRADED"} 0
bedplate_krake_clusters{state="DELETING"} 0
bedplate_krake_clusters{state="FAILED"} 1
bedplate_krake_clusters{state="FAILING_RECONCILIATION"} 0
bedplate_krake_clusters{state="NOTREADY"} 0
bedplate_krake_clusters{state="OFFLINE"} 0
bedplate_krake_clusters{state="ONLINE"} 2
bedplate_krake_clusters{state="PENDING"} 1
bedplate_krake_clusters{state="RECONCILING"} 0
bedplate_krake_clusters{state="UNHEALTHY"} 0
`))).To(Succeed())

	broken := interceptor.NewClient(c, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("the cache has ended")
		},
	})
	g.Expect(testutil.CollectAndCount(provider.NewStates(broken))).To(BeZero(), "what can't be read isn't 0")

	counts := func() (int, error) { return testutil.GatherAndCount(metrics.Registry, "bedplate_krake_clusters") }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- waiting.WhileLeading{Collector: provider.NewStates(c)}.Start(ctx) }()
	g.Eventually(counts).Should(Equal(len(krakev1.ClusterStates)))
	stop()
	g.Eventually(ended).Should(Receive(Not(HaveOccurred())))
	g.Expect(counts()).To(BeZero(), "another replica leads")
}
