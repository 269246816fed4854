// Package managertest runs the controllers of a system in tests, as its manager does.
package managertest

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/optest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// Manager watches one namespace of the API server.
type Manager struct {
	Scheme    *runtime.Scheme
	Namespace string
	// Cluster are kinds without a namespace, of which the manager sees only objects that have the label OwnLabel with its namespace.
	Cluster []client.Object
	// Poll interval, and settle time.
	Poll, Settle time.Duration
	// Reconciles are counted.
	Reconciles *optest.Reconciles
}

// OwnLabel has the namespace of the manager that an object of Manager.Cluster is for.
const OwnLabel = "test.bedplate.dev/of"

// Setup registers the controllers of a manager.
type Setup func(context.Context, ctrl.Manager, *graph.Engine, controller.Options) error

// Run it until the test ends or it is stopped.
func (m Manager) Run(t testing.TB, setup Setup) (stop func()) {
	t.Helper()
	own := map[client.Object]cache.ByObject{}
	for _, kind := range m.Cluster {
		own[kind] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{OwnLabel: m.Namespace})}
	}
	mgr, err := ctrl.NewManager(testenv.Config(t), ctrl.Options{
		Scheme:     m.Scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{m.Namespace: {}}, ByObject: own},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}, // each test has a manager
	})
	if err != nil {
		t.Fatalf("make the manager: %v", err)
	}
	engine := &graph.Engine{
		Store:    &ledgers.Store{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Recorder: mgr.GetEventRecorder("test"), Clock: clock.RealClock{}, Poll: m.Poll, Settle: m.Settle,
		Creates: &creates.Pool{Limit: 8, Patience: 100 * time.Millisecond},
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := setup(ctx, mgr, engine, controller.Options{
		MaxConcurrentReconciles: 4,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](m.Poll, 4*m.Poll),
		NewQueue:                m.Reconciles.NewQueue,
	}); err != nil {
		cancel()
		t.Fatalf("set up the controllers: %v", err)
	}
	t.Cleanup(cancel)
	stopManager := testenv.Run(t, mgr)
	return func() { stopManager(); cancel() }
}
