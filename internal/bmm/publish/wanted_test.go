package publish

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
)

// The type of one instance can't be asked for any more, because its provider has withdrawn it from the tenant.
func TestNames_oneInstanceOfAnUnknownTypeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const withdrawn = "17fe0000-0000-4000-8000-0000000000ff"
	service, err := sim.New(sim.DefaultWorld(), nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(service.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/instance/type/"+withdrawn) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"source":"nico","message":"Instance Type does not belong to Tenant"}`))
			return
		}
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r := &Reconciler{
		Places: topology.NewLookup(time.Minute, clock.RealClock{}),
		Clients: &credentials.Cache[*bmm.Client]{
			Clock: clock.RealClock{}, Build: bmm.Connect(bmm.Paced(time.Second, 0, 0, egress.Policy{Loopback: true})),
			Reader: fake.NewClientBuilder().WithObjects(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "bmm"},
				Data: map[string][]byte{
					"endpoint": []byte(server.URL), "orgName": []byte(sim.DefaultOrg), "token": []byte(sim.DefaultToken),
				},
			}).Build(),
		},
	}
	infra := &infrav1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
	infra.Spec.Authentication.SecretRef.Name = "bmm"
	names := r.names(t.Context(), infra)
	_, ok := names.of(&bmm.Instance{SiteID: sim.DefaultSiteID, InstanceTypeID: withdrawn})
	g.Expect(ok).To(BeFalse())
	place, ok := names.of(&bmm.Instance{SiteID: sim.DefaultSiteID, InstanceTypeID: sim.DefaultInstanceTypeID})
	g.Expect(ok).To(BeTrue())
	g.Expect(place.InstanceType).To(Equal("cpu.large"))
}

// A machine changes about ten times until it is ready; most clusters aren't published.
func TestMachines_wakeOnlyClustersThatArePublished(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, machine := &Reconciler{}, &infrav1.NvidiaBMMMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "worker-1", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
	}}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	update := event.UpdateEvent{ObjectOld: machine, ObjectNew: machine}
	r.machines().Update(t.Context(), update, queue)
	r.machines().Delete(t.Context(), event.DeleteEvent{Object: machine}, queue)
	g.Expect(queue.Len()).To(BeZero())
	r.clusters.of(types.NamespacedName{Namespace: "default", Name: "demo"})
	r.machines().Update(t.Context(), update, queue)
	g.Expect(queue.Len()).To(Equal(1))
}
