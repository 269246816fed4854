package provider_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/krake/cluster"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/ledgers"
)

const (
	crashPoll   = time.Second
	crashSettle = time.Minute
	// crashSpeed ends everything that takes ten simulated minutes within a millisecond or so.
	crashSpeed = 5_000_000
)

// changed is the template with one more machine.
var changed = strings.Replace(kraketest.Template, "count: 1", "count: 2", 1)

// world is a Cluster in an API server, and a simulated manager.
type world struct {
	*kraketest.Fixture
	t     *testing.T
	clock *clocktesting.FakeClock
	owner *krakev1.Cluster
	// theirs is the ID of an infrastructure of the same user's own.
	theirs string
}

func (w *world) Reconcile(ctx context.Context, f *crashtest.Fuse) error {
	c := f.Client(w.Client)
	live := f.Live(w.Client)
	engine := &graph.Engine{
		Store: &ledgers.Store{Client: c, Live: live}, Recorder: events.NewFakeRecorder(1000), Clock: w.clock, Poll: crashPoll, Settle: crashSettle,
	}
	reconciler := &cluster.Reconciler{
		Client: c, Engine: engine, Config: cluster.Config{CreateDeadline: time.Hour},
		Clients: cluster.NewClients(c, nil, w.clock, func(config *im.Config) {
			w.Paced(crashPoll)(config)
			config.HTTP = &http.Client{Transport: f.Transport(w.Transport)}
		}),
	}
	_, err := reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.owner)})
	return err
}

func (w *world) Ready() bool {
	w.Expect(w.Read(w.owner)).To(Succeed())
	s := w.owner.Status
	return s.State == krakev1.StateConnecting && s.LastAppliedTOSCA == w.owner.Spec.TOSCA
}

func (w *world) Delete() { w.Fixture.Delete(w.owner) }

func (w *world) Gone() bool {
	err := w.Read(w.owner)
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err != nil
}

// Pass waits until nothing at the manager is in transition.
func (w *world) Pass() {
	w.clock.Step(crashSettle)
	w.UntilAtRest()
}

// Outside names each infrastructure by its machines.
func (w *world) Outside() (keys []string) {
	for _, i := range w.IM.State() {
		if !i.Record && i.ID != w.theirs {
			keys = append(keys, strings.Repeat("machine ", len(i.VMs)))
		}
	}
	return keys
}

func (w *world) Untouched() error { return w.Intact(w.theirs) }

func newWorld(t *testing.T) *world {
	api, namespace := crashtest.API(t, krakev1.AddToScheme, ledgerv1.AddToScheme(krakev1.LedgerGroup))
	w := &world{
		Fixture: kraketest.StartIMIn(t, api, namespace, func(c *sim.Config) { c.Speed = crashSpeed }),
		t:       t, clock: clocktesting.NewFakeClock(time.Now()),
	}
	w.theirs = w.MakeOwn()
	on := w.CreateCloud().Reference()
	w.owner = w.CreateCluster("demo")
	w.owner.Status.ScheduledTo, w.owner.Status.ScheduledAt = &on, &metav1.Time{Time: w.clock.Now()}
	w.Expect(w.Client.Status().Update(t.Context(), w.owner)).To(Succeed())
	return w
}

func TestCrash_cluster(t *testing.T) {
	t.Parallel()
	crashtest.Suite{
		OneOf: 2, Keys: []string{"machine machine "}, Changed: []string{"machine machine machine "},
		New: func(t *testing.T) crashtest.World { return newWorld(t) },
		Change: func(any crashtest.World) {
			w := any.(*world)
			w.Expect(w.Read(w.owner)).To(Succeed())
			w.owner.Spec.TOSCA = changed
			w.Expect(w.Client.Update(w.t.Context(), w.owner)).To(Succeed())
		},
	}.Run(t)
}
