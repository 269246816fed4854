package graph_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	settle    = time.Minute
	poll      = time.Second
	finalizer = "bedplate.dev/test"
)

// fixture is an owner in a real API server, whose graph is: net, then left and right; and lonely on its own.
type fixture struct {
	*WithT
	t       testing.TB
	client  client.WithWatch
	clock   *clocktesting.FakeClock
	service *service
	name    client.ObjectKey
	// write, if set, may refuse a write to the API server.
	write func() error
	// lag, if set, is the ledger that the engine's cache still has; without a name it has none.
	lag *ledgerv1.Ledger
	// paused is what the engine reads past the cache.
	paused bool
	// keys wanted below net.
	below []string
	// ifLost is what the wants say of lost things.
	ifLost string
	// stuck says of things by ID why they can't be changed.
	stuck map[string]error
	// size that the spec asks for.
	size int
	// slowly is run before each create, if set.
	slowly func()
	// createTimeout of the engine; 0 sets no limit.
	createTimeout time.Duration
	// pool of creates; nil if each runs within its reconcile.
	pool   *creates.Pool
	events *events.FakeRecorder
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureIn(t, testenv.Client(t), testenv.Namespace(t))
}

func newFixtureIn(t testing.TB, api client.WithWatch, namespace string) *fixture {
	t.Helper()
	f := &fixture{
		WithT: NewWithT(t), t: t, client: api, service: newService(),
		clock: clocktesting.NewFakeClock(time.Now()), below: []string{"left", "right"}, events: events.NewFakeRecorder(1000),
	}
	f.SetDefaultEventuallyTimeout(time.Minute)
	owner := &bmmv1.NvidiaBMMCluster{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "owner-", Namespace: namespace, Finalizers: []string{finalizer}},
		Spec: bmmv1.NvidiaBMMClusterSpec{
			SiteRef: bmmv1.SiteReference{Name: "any"}, TenantID: "05000000-0000-4000-8000-000000000001",
			Authentication: bmmv1.Authentication{SecretRef: bmmv1.SecretReference{Name: "any"}},
			Subnets:        []bmmv1.SubnetSpec{{Name: "any", PrefixLength: ptr.To[int32](24)}},
		},
	}
	f.Expect(f.client.Create(t.Context(), owner)).To(Succeed())
	f.name = client.ObjectKeyFromObject(owner)
	return f
}

func (f *fixture) owner() *bmmv1.NvidiaBMMCluster {
	owner := &bmmv1.NvidiaBMMCluster{}
	f.Expect(f.client.Get(f.t.Context(), f.name, owner)).To(Succeed())
	return owner
}

// engine is a new one each time: it remembers nothing.
func (f *fixture) engine() *graph.Engine {
	writing := func() error {
		if f.write == nil {
			return nil
		}
		return f.write()
	}
	c := interceptor.NewClient(f.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			l, isLedger := o.(*ledgerv1.Ledger)
			switch {
			case !isLedger || f.lag == nil:
				return c.Get(ctx, key, o, opts...)
			case f.lag.Name == "":
				return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
			}
			f.lag.DeepCopyInto(l)
			return nil
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := writing(); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := writing(); err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := writing(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	return &graph.Engine{
		Store: &ledgers.Store{
			Client: c, Live: f.client, Paused: func(context.Context, client.Object) (bool, error) { return f.paused, nil },
		},
		Recorder: f.events, Clock: f.clock, Poll: poll, Settle: settle, CreateTimeout: f.createTimeout, Creates: f.pool,
	}
}

// ledger of the owner; nil if it has none.
func (f *fixture) ledger() *ledgerv1.Ledger {
	f.t.Helper()
	l, err := ledgers.Of(f.t.Context(), f.client, f.client.Scheme(), f.owner())
	f.Expect(err).NotTo(HaveOccurred())
	return l
}

func (f *fixture) ownsNothing(owner graph.Owner) bool {
	f.t.Helper()
	nothing, err := f.engine().OwnsNothing(f.t.Context(), owner)
	f.Expect(err).NotTo(HaveOccurred())
	return nothing
}

func (f *fixture) want(key string, after ...graph.Ref) graph.Want[thing] {
	return graph.Want[thing]{
		Key: key, Condition: key + "Ready", After: after, Claim: graph.Create(), IfLost: f.ifLost,
		Create: func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			tag := graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token}
			slowly := f.slowly
			return func(context.Context) (*thing, error) {
				if slowly != nil {
					slowly()
				}
				return f.service.create(tag)
			}, nil
		},
		Update: func(t *thing) graph.Update {
			u := graph.Update{Apply: func(context.Context) error { return f.service.resize(t.id, f.size) }}
			if t.size != f.size {
				u.Changes = []graph.Change{{Field: "size", From: strconv.Itoa(t.size), To: strconv.Itoa(f.size)}}
				u.Refused = f.stuck[t.id]
			}
			return u
		},
	}
}

func (f *fixture) reconcileObject(owner graph.Owner) (ctrl.Result, error) {
	kind := f.service.kind()
	g, err := f.engine().New(f.t.Context(), owner, []string{"any"}, kind)
	if err != nil {
		return ctrl.Result{}, err
	}
	f.wants(g, kind)
	return g.Reconcile(f.t.Context())
}

func (f *fixture) wants(g *graph.Graph, kind *graph.Kind[thing]) {
	net := graph.Add(g, kind, f.want("net"))
	for _, key := range f.below {
		graph.Add(g, kind, f.want(key, net))
	}
	graph.Add(g, kind, f.want("lonely"))
}

// reconcile returns the owner with the conditions of this reconcile, which aren't written to the server.
func (f *fixture) reconcile() (*bmmv1.NvidiaBMMCluster, error) {
	owner := f.owner()
	_, err := f.reconcileObject(owner)
	return owner, err
}

func (f *fixture) delete() (*bmmv1.NvidiaBMMCluster, bool) {
	owner := f.owner()
	g, err := f.engine().New(f.t.Context(), owner, []string{"any"}, f.service.kind())
	f.Expect(err).NotTo(HaveOccurred())
	done, _, _ := g.Delete(f.t.Context())
	return owner, done
}

// deletes continues with a deletion, and lets the service do its work, until it is done or makes no progress.
func (f *fixture) deletes(shown ...string) (owner showing, done bool) {
	f.t.Helper()
	for range 8 {
		owner = showing{f.owner(), shown}
		g, _ := f.graphOf(owner)
		if done, _, _ = g.Delete(f.t.Context()); done {
			break
		}
		f.service.finish()
	}
	return owner, done
}

func (f *fixture) expectCondition(owner *bmmv1.NvidiaBMMCluster, condition string, status metav1.ConditionStatus, reason, message string) {
	f.t.Helper()
	found := meta.FindStatusCondition(owner.Status.Conditions, condition)
	f.Expect(found).NotTo(BeNil(), condition)
	f.Expect(found.Status).To(Equal(status), "%s: %s", condition, found.Message)
	f.Expect(found.Reason).To(Equal(reason), "%s: %s", condition, found.Message)
	f.Expect(found.Message).To(ContainSubstring(message))
}

var everything = []string{"left", "lonely", "net", "right"}
