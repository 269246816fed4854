package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/powervs/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, webhook.Features{BootstrapFormatIgnition: true}.SetupWithManager)
}

const (
	crashPoll   = time.Second
	crashSettle = time.Minute
	// crashSpeed ends everything that takes ten simulated minutes within a millisecond or so.
	crashSpeed = 5_000_000
)

// world is an object in an API server, and a simulated account.
type world struct {
	*powervstest.Fixture
	t     *testing.T
	clock *clocktesting.FakeClock
	owner graph.Owner
	// reconciler makes the one that is under test, from nothing.
	reconciler func(parts) reconcile.Reconciler
	// before is what there was when the world began, by ID.
	before map[string]sim.Item
}

// parts are what a reconciler is made from.
type parts struct {
	client client.Client
	lifecycle.Logins[*ibm.Client]
}

func clusterReconciler(p parts) reconcile.Reconciler {
	return &cluster.Reconciler{Client: p.client, Logins: p.Logins}
}

func (w *world) Reconcile(ctx context.Context, f *crashtest.Fuse) error {
	c := f.Client(w.Client)
	p := parts{client: c}
	p.Engine = &graph.Engine{
		Store: &ledgers.Store{Client: c, Live: f.Live(w.Client)}, Recorder: events.NewFakeRecorder(1000), Clock: w.clock, Poll: crashPoll, Settle: crashSettle,
	}
	p.Guard = &credentials.Guard{Client: c, Metadata: c, Live: f.Live(w.Client), Finalizer: cluster.SecretFinalizer}
	p.Clients = &credentials.Cache[*ibm.Client]{Reader: c, Clock: w.clock, Build: ibm.Connect(func(config *ibm.Config) {
		config.Egress = egress.Policy{Loopback: true}
		config.HTTP = &http.Client{Transport: w.through(f)}
	})}
	_, err := w.reconciler(p).Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.owner)})
	return err
}

// through lets requests pass the fuse but those for a token, which change nothing.
func (w *world) through(f *crashtest.Fuse) http.RoundTripper {
	fused := f.Transport(w.Transport)
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/identity/token") {
			return w.Transport.RoundTrip(r)
		}
		return fused.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (w *world) Ready() bool {
	w.Expect(w.Read(w.owner)).To(Succeed())
	return meta.IsStatusConditionTrue(w.owner.GetConditions(), graph.ReadyCondition)
}

func (w *world) Delete() { w.Fixture.Delete(w.owner) }

func (w *world) Gone() bool {
	err := w.Read(w.owner)
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err != nil
}

// Pass waits until nothing in the account is in transition.
func (w *world) Pass() {
	w.clock.Step(crashSettle)
	w.UntilAtRest()
}

// Outside names what clients have made, but for what comes and goes with something else.
func (w *world) Outside() (keys []string) {
	for kind, items := range w.Cloud.State() {
		for _, item := range items {
			if _, theirs := w.before[item.ID]; theirs || item.Record || item.Part || kind == sim.KindListener || kind == sim.KindPool {
				continue
			}
			name := powervstest.NameOf(item.Name)
			if kind == sim.KindSecurityRule { // the service chooses its name
				name = ruleName(item)
			}
			keys = append(keys, string(kind)+"/"+name)
		}
	}
	return keys
}

// ruleName says of a rule what tells it from others.
func ruleName(item sim.Item) string {
	var rule struct {
		Protocol string `json:"protocol"`
		Port     int    `json:"port_min"`
		Remote   any    `json:"remote"`
	}
	_ = json.Unmarshal([]byte(item.Detail), &rule) // it was JSON just now
	from := "a group"
	if remote, is := rule.Remote.(map[string]any); is {
		from = fmt.Sprint(remote["cidr_block"])
	}
	return fmt.Sprintf("%s %d from %s", rule.Protocol, rule.Port, from)
}

func (w *world) Untouched() error {
	now := w.Items()
	for id, before := range w.before {
		if now[id] != before {
			return fmt.Errorf("%s was %+v and is %+v", id, before, now[id])
		}
	}
	return nil
}

// newWorld is one with a cluster that isn't reconciled yet, and with what is the user's own.
func newWorld(t *testing.T, change func(*infrav1.IBMPowerVSCluster, powervstest.Own)) *world {
	api := testenv.Memory(t, infrav1.AddToScheme, ledgerv1.AddToScheme(infrav1.LedgerGroup)) // all shapes have some ten thousand points
	w := &world{
		Fixture: powervstest.StartCloudIn(t, api, metav1.NamespaceDefault, powervstest.WithWorkspace, func(c *sim.Config) { c.Speed = crashSpeed }),
		t:       t, clock: clocktesting.NewFakeClock(time.Now()), reconciler: clusterReconciler,
	}
	own := w.MakeOwn()
	w.before = w.Items()
	w.owner = w.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) { change(c, own) })
	return w
}

// later changes the spec of the cluster.
func (w *world) later(change func(*infrav1.IBMPowerVSCluster)) {
	w.Expect(w.Read(w.owner)).To(Succeed())
	change(w.owner.(*infrav1.IBMPowerVSCluster))
	w.Expect(w.Client.Update(w.t.Context(), w.owner)).To(Succeed())
}

func TestCrash_cluster(t *testing.T) {
	t.Parallel()
	for name, row := range crashtest.Sample(t, rows) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite := crashtest.Suite{OneOf: 3, Keys: row.keys, New: func(t *testing.T) crashtest.World { return newWorld(t, row.change) }}
			if row.later != nil {
				suite.Changed, suite.Change = row.changed, func(w crashtest.World) { w.(*world).later(row.later) }
			}
			suite.Run(t)
		})
	}
}
