package graph_test

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/metricstest"
)

// metered is a kind of which there is one: metrics are the process's own.
type metered struct{ bmmv1.NvidiaBMMCluster }

func (m *metered) DeepCopyObject() runtime.Object { return &metered{*m.DeepCopy()} }

func meteredClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(bmmv1.GroupVersion.WithKind("metered"), &metered{})
	NewWithT(t).Expect(ledgerv1.AddToScheme(ledgerv1.GroupBMM)(scheme)).To(Succeed())
	return fake.NewClientBuilder().WithScheme(scheme).Build()
}

// timed is what a histogram has seen.
type timed struct {
	count   uint64
	seconds float64
}

// timesOf returns what a histogram says of the metered one, by condition.
func timesOf(t *testing.T, metric string) map[string]timed {
	t.Helper()
	all := map[string]timed{}
	for _, value := range metricstest.ValuesOf(t, metrics.Registry, metric) {
		if value.Labels["kind"] == "metered" {
			all[value.Labels["condition"]] = timed{value.GetHistogram().GetSampleCount(), value.GetHistogram().GetSampleSum()}
		}
	}
	return all
}

func TestMetrics_sayHowLongAConditionWasNotMet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := meteredClient(t)
		engine := &graph.Engine{
			Store:    &ledgers.Store{Client: c, Live: c, Home: "here"},
			Recorder: events.NewFakeRecorder(100), Clock: clock.RealClock{}, Poll: time.Second,
		}
		owner := &metered{}
		for _, step := range []struct {
			phase phases.Phase
			lasts time.Duration
		}{
			{phases.Waiting("for the boss"), 90 * time.Second},
			{phases.Failed("he is ill").Because("Ill"), 30 * time.Second},
			{phases.Ready(), time.Hour},
			{phases.Ready(), time.Hour},
			{phases.Phase{State: phases.StateUnknown, Reason: "Credentials"}, 10 * time.Second},
			{phases.Ready(), time.Hour},
		} {
			round, err := engine.New(t.Context(), owner, []string{"any"})
			g.Expect(err).NotTo(HaveOccurred())
			round.Gate("MoodGood", func() phases.Phase { return step.phase })
			round.Gate("AlwaysGood", phases.Ready)
			_, err = round.Reconcile(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			time.Sleep(step.lasts) // the bubble's time
		}
		g.Expect(timesOf(t, "bedplate_condition_unmet_seconds")).To(Equal(map[string]timed{
			"MoodGood": {2, 130}, "Ready": {2, 130},
		}))
	})
}

func TestMetrics_sayHowLongADeletionTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := meteredClient(t)
		engine := &graph.Engine{Store: &ledgers.Store{Client: c}}
		for _, name := range []string{"kept", "deleted"} {
			owner := &metered{}
			owner.Namespace, owner.Name = "blue", name
			controllerutil.AddFinalizer(owner, finalizer)
			controllerutil.AddFinalizer(owner, "example.com/another")
			g.Expect(c.Create(t.Context(), owner)).To(Succeed())
			if name == "deleted" {
				g.Expect(c.Delete(t.Context(), owner)).To(Succeed())
			}
			time.Sleep(5 * time.Minute)
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(owner), owner)).To(Succeed())
			g.Expect(engine.Release(t.Context(), owner, finalizer)).To(Succeed())
			g.Expect(engine.Release(t.Context(), owner, finalizer)).To(Succeed(), "twice is once")
		}
		g.Expect(timesOf(t, "bedplate_deletion_seconds")).To(Equal(map[string]timed{"": {1, 300}}))
	})
}
