// Package kraketest runs Krake's controllers for tests: against a real API server, and a simulated infrastructure manager for each test.
package kraketest

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/provider"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/managertest"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	// Poll is the controllers' poll interval; what waits for long is polled after ten of these.
	Poll = 50 * time.Millisecond
	// Settle is longer than any late commit of these tests, and how long something has to stay gone.
	Settle = time.Second
	// Speed lets all that takes ten simulated minutes end within a poll interval or two.
	Speed = 6000
	// CreateDeadline is longer than anything that is in progress takes.
	CreateDeadline = time.Minute
)

// Fixture is the controllers of one namespace, and the infrastructure manager that they call.
type Fixture struct {
	*managertest.Fixture
	t  *testing.T
	IM *sim.Server
	// Transport reaches the manager, without a network.
	Transport http.RoundTripper
	// Config of the controllers, and their poll interval; default Poll. By default nothing is observed.
	Config provider.Config
	Poll   time.Duration
	// Settle time of the controllers; default Settle.
	Settle time.Duration
}

// Start runs controllers and a simulator until the test ends. Change may modify the simulator's world first.
func Start(t *testing.T, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	f := StartIM(t, change...)
	f.RunControllers()
	return f
}

// StartIM runs a simulator and no controllers.
func StartIM(t *testing.T, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	return StartIMIn(t, testenv.Client(t, provider.AddToScheme), testenv.Namespace(t), change...)
}

// StartIMIn starts one beside another API server.
func StartIMIn(t *testing.T, api client.WithWatch, namespace string, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	f := &Fixture{Fixture: managertest.NewFixture(t, api, namespace), t: t, Poll: Poll, Settle: Settle}
	world := sim.Default()
	world.Speed = Speed
	for _, c := range change {
		c(&world)
	}
	server, err := sim.New(world, slog.New(slog.DiscardHandler))
	f.Expect(err).NotTo(HaveOccurred())
	f.IM, f.Service = server, server.Service
	f.Transport = simulatortest.Transport(func(string) http.Handler { return server })
	t.Cleanup(server.Close) // it ends calls that hang
	f.Config = provider.Config{
		CreateDeadline: CreateDeadline, Egress: egress.Policy{Loopback: true}, Change: f.Paced(Poll),
	}
	return f
}

// RunControllers runs the controllers until the test ends or they are stopped.
func (f *Fixture) RunControllers() (stop func()) {
	f.t.Helper()
	scheme := runtime.NewScheme()
	f.Expect(provider.AddToScheme(scheme)).To(Succeed())
	return managertest.Manager{
		Scheme: scheme, Namespace: f.Namespace, Cluster: []client.Object{&krakev1.GlobalCloud{}, &krakev1.GlobalInfrastructureProvider{}}, Poll: f.Poll, Settle: f.Settle, Reconciles: f.Reconciles,
	}.Run(f.t, func(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, options controller.Options) error {
		return provider.Setup(ctx, mgr, engine, f.Config, options)
	})
}

// Paced lets clients reach the manager.
func (f *Fixture) Paced(poll time.Duration) func(*im.Config) {
	paced := im.Paced(poll, 0, 0, egress.Policy{Loopback: true})
	return func(c *im.Config) {
		paced(c)
		c.HTTP = &http.Client{Transport: f.Transport}
	}
}
