package actuator_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/machineapi"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	crashPoll   = time.Second
	crashSettle = time.Minute
	// crashSpeed ends everything that takes a simulated hour within a millisecond or so.
	crashSpeed = 5_000_000
)

// world is a Machine in a real API server, and a simulated site.
type world struct {
	*fixture
	clock   *clocktesting.FakeClock
	machine *machinev1.Machine
	specs   *providerspec.Reader
	// before is the network of the user's own.
	before string
}

func newWorld(t *testing.T) *world {
	w := &world{
		fixture: startSite(t, func(c *sim.Config) { c.Speed = crashSpeed }),
		clock:   clocktesting.NewFakeClock(time.Now()),
	}
	var err error
	w.specs, err = providerspec.NewReader()
	w.Expect(err).NotTo(HaveOccurred())
	w.before = w.theirs()
	w.machine = w.createMachine("worker-1")
	return w
}

func (w *world) Reconcile(ctx context.Context, f *crashtest.Fuse) error {
	c := f.Client(w.Client)
	engine := &graph.Engine{
		Store: &ledgers.Store{Client: c, Live: f.Live(w.Client)}, Recorder: events.NewFakeRecorder(1000), Clock: w.clock, Poll: crashPoll, Settle: crashSettle,
	}
	kube, err := kubernetes.NewForConfig(testenv.Config(w.t))
	w.Expect(err).NotTo(HaveOccurred())
	reconciler := &machineapi.Reconciler{
		Client: c, Live: f.Live(w.Client), Kube: kube, Recorder: engine.Recorder, Poll: crashPoll,
		Ours: func(*machinev1.Machine) bool { return true },
		Actuator: &actuator.Actuator{
			Logins: lifecycle.Logins[*bmm.Client]{
				Engine: engine, Guard: &credentials.Guard{Client: c, Metadata: c, Live: f.Live(w.Client), Finalizer: bmmv1.SecretFinalizer},
				Clients: &credentials.Cache[*bmm.Client]{Reader: c, Clock: w.clock, Build: bmm.Connect(func(config *bmm.Config) {
					config.APIName, config.Egress = bmm.APINameCarbide, egress.Policy{Loopback: true} // finding the name out is tried elsewhere
					config.HTTP = &http.Client{Transport: f.Transport(http.DefaultTransport)}
				})},
			},
			Specs: w.specs, Instances: inventory.New(crashPoll, w.clock),
			Places: actuator.NewPlaces(crashPoll, clock.RealClock{}), Topology: topology.NewLookup(crashPoll, clock.RealClock{}),
		},
	}
	_, err = reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.machine)})
	return err
}

func (w *world) Ready() bool {
	w.Expect(w.Read(w.machine)).To(Succeed())
	return condition(w.machine, bmmv1.ReadyCondition).Status == metav1.ConditionTrue
}

func (w *world) Delete() { w.fixture.Delete(w.machine) }

func (w *world) Gone() bool {
	err := w.Read(w.machine)
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err != nil
}

// Pass waits until no instance is in transition.
func (w *world) Pass() {
	w.clock.Step(crashSettle)
	w.Eventually(func() (moving []bmm.Instance) {
		return slices.DeleteFunc(w.Sim.State().Instances, func(i bmm.Instance) bool { return i.Status == bmm.InstanceReady })
	}).WithPolling(time.Millisecond).Should(BeEmpty())
}

func (w *world) Outside() (keys []string) {
	for _, i := range w.Sim.State().Instances {
		keys = append(keys, tag.FromLabels(i.Labels).Key)
	}
	return keys
}

func (w *world) Untouched() error {
	if w.theirs() != w.before {
		return errors.New("the VPC or the subnet isn't as it was")
	}
	return nil
}

func (w *world) theirs() string {
	state := w.Sim.State()
	text, _ := json.Marshal([]any{state.VPCs, state.Subnets})
	return string(text)
}

func TestCrash_openshiftMachine(t *testing.T) {
	t.Parallel()
	crashtest.Suite{Keys: []string{"instance"}, New: func(t *testing.T) crashtest.World { return newWorld(t) }}.Run(t)
}
