package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
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
	w.Eventually(w.moving).WithPolling(time.Millisecond).Should(BeEmpty())
}

// moving is what is going to be in another status by itself.
func (w *world) moving() (moving []string) {
	for kind, items := range w.Cloud.State() {
		for _, item := range items {
			if item.Moving {
				moving = append(moving, fmt.Sprintf("%s %s %s", kind, item.Name, item.Status))
			}
		}
	}
	return moving
}

// Outside names what clients have made, but for what comes and goes with something else.
func (w *world) Outside() (keys []string) {
	for kind, items := range w.Cloud.State() {
		for _, item := range items {
			if _, theirs := w.before[item.ID]; theirs || item.Record || item.Part || kind == sim.KindListener || kind == sim.KindPool {
				continue
			}
			name := powervstest.NameOf(item.Name)
			if kind == sim.KindSecurityRule {
				name = "" // the service chooses it
			}
			keys = append(keys, strings.TrimSuffix(string(kind)+"/"+name, "/"))
		}
	}
	return keys
}

func (w *world) Untouched() error {
	now := w.items()
	for id, before := range w.before {
		if now[id] != before {
			return fmt.Errorf("%s was %+v and is %+v", id, before, now[id])
		}
	}
	return nil
}

// items are all that there is, by ID, but for what is only a record.
func (w *world) items() map[string]sim.Item {
	all := map[string]sim.Item{}
	for _, items := range w.Cloud.State() {
		for _, item := range items {
			if !item.Record {
				all[item.ID] = item
			}
		}
	}
	return all
}

// newWorld is one with a cluster that isn't reconciled yet. Prepare makes what is the user's own.
func newWorld(t *testing.T, prepare func(*powervstest.Fixture), change ...func(*infrav1.IBMPowerVSCluster)) *world {
	api, namespace := crashtest.API(t, infrav1.AddToScheme, ledgerv1.AddToScheme(infrav1.LedgerGroup))
	w := &world{
		Fixture: powervstest.StartCloudIn(t, api, namespace, func(c *sim.Config) { c.Speed = crashSpeed }),
		t:       t, clock: clocktesting.NewFakeClock(time.Now()), reconciler: clusterReconciler,
	}
	if prepare != nil {
		prepare(w.Fixture)
	}
	w.before = w.items()
	w.owner = w.CreateCluster("demo", change...)
	return w
}


// Keys of what a cluster has if all is created.
var allKeys = []string{
	"instance/demo-serviceInstance", "dhcpServer/demo", "vpc/demo-vpc", "securityGroupRule", "subnet/demo-vpcsubnet-us-south-1",
	"subnet/demo-vpcsubnet-us-south-2", "subnet/demo-vpcsubnet-us-south-3", "loadBalancer/demo-loadbalancer",
	"transitGateway/demo-transitgateway", "transitGatewayConnection/bedplate-OWNER-vpc", "transitGatewayConnection/bedplate-OWNER-powervs",
}

func TestCrash_cluster(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		prepare func(*powervstest.Fixture)
		change  func(*infrav1.IBMPowerVSCluster)
		keys    []string
	}{
		"all is created": {keys: allKeys, change: func(*infrav1.IBMPowerVSCluster) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crashtest.Suite{
				Keys: row.keys, New: func(t *testing.T) crashtest.World { return newWorld(t, row.prepare, row.change) },
			}.Run(t)
		})
	}
}
