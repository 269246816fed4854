package optest_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/optest"
	"github.com/bedplate/bedplate/internal/patch"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	poll      = 50 * time.Millisecond
	finalizer = "optest.bedplate.dev/toy"
)

// bug is what a toy's controller does wrong on purpose.
type bug string

const (
	none         bug = ""
	ignoresColor bug = "a changed color is ignored"
	keepsLabels  bug = "labels that left the spec stay"
	neverHeals   bug = "a shop that was closed once is closed for good"
	spins        bug = "a painted toy is looked at without end"
	panics       bug = "two parts are too many"
	clears       bug = "for a painted toy, the shop's own goes"
)

// controllerOf toys.
type controllerOf struct {
	client.Client
	engine *graph.Engine
	shops  *shops
	bug    bug
	closed sync.Map
}

func (c *controllerOf) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	toy := &Toy{}
	if err := c.Get(ctx, req.NamespacedName, toy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := copied(toy)
	if toy.DeletionTimestamp.IsZero() {
		if err := c.engine.Hold(ctx, toy, finalizer); err != nil {
			return ctrl.Result{}, err
		}
		ledgers.Held(before, toy)
	}
	result, err := c.reconcile(ctx, toy)
	if c.bug == spins && toy.Spec.Painted {
		result.RequeueAfter = time.Millisecond
	}
	return result, errors.Join(err, patch.All(ctx, c.Client, before, toy))
}

func (c *controllerOf) reconcile(ctx context.Context, toy *Toy) (ctrl.Result, error) {
	kind := c.shops.kind()
	g, err := c.engine.New(ctx, toy, []string{"any"}, kind)
	if err != nil {
		return c.engine.Blocked(toy, "Made", err)
	}
	if !toy.DeletionTimestamp.IsZero() {
		return g.DeleteAndRelease(ctx, finalizer)
	}
	if err := c.open(toy); err != nil {
		return c.engine.Blocked(toy, "Made", err)
	}
	if c.bug == clears && toy.Spec.Painted {
		c.shops.clear()
	}
	if c.bug == panics && len(toy.Spec.Parts) > 1 {
		panic(c.bug)
	}
	spec := toy.Spec
	fields := map[string]string{"size": strconv.Itoa(spec.Size), "model": spec.Model, "painted": strconv.FormatBool(spec.Painted)}
	labels, _ := json.Marshal(spec.Labels)
	if c.bug != keepsLabels || len(spec.Labels) > 0 {
		fields["labels"] = string(labels)
	}
	fields["color"] = spec.Color
	body := c.shops.want("body", spec.Shop, "", fields)
	if c.bug == ignoresColor {
		update := body.Update
		body.Update = func(t *thing) graph.Update {
			fields["color"] = t.Fields["color"]
			return update(t)
		}
	}
	made := graph.Add(g, kind, body)
	for _, part := range spec.Parts {
		fields := map[string]string{"weight": strconv.Itoa(part.Weight)}
		graph.Add(g, kind, c.shops.want("part/"+part.Name, spec.Shop, "the body", fields, made))
	}
	return g.Reconcile(ctx)
}

func (c *controllerOf) open(toy *Toy) error {
	err := c.shops.open(toy.Spec.Shop)
	if err != nil && c.bug == neverHeals {
		c.closed.Store(toy.UID, err)
	}
	if remembered, ok := c.closed.Load(toy.UID); ok {
		return remembered.(error)
	}
	return err
}

// suite of the toys, whose controller has a bug.
func suite(b bug) optest.Suite {
	return optest.Suite{
		New:    func(t *testing.T) *optest.World { return newWorld(t, b) },
		Values: map[string][]any{"shop": {goodShop, goodShop, otherShop}},
	}
}

var (
	installed sync.Once
	scheme    = sync.OnceValues(func() (*runtime.Scheme, error) { return testenv.SchemeWith(addToyToScheme) })
)

func newWorld(t *testing.T, b bug) *optest.World {
	g := NewWithT(t)
	config, namespace := testenv.Config(t), testenv.Namespace(t)
	scheme, err := scheme()
	g.Expect(err).NotTo(HaveOccurred())
	installed.Do(func() {
		_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{
			Paths: []string{"testdata/toys.yaml"}, ErrorIfPathMissing: true, MaxTime: time.Minute,
		})
		g.Expect(err).NotTo(HaveOccurred())
	})
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	g.Expect(err).NotTo(HaveOccurred())
	made, reconciles := &shops{things: map[string]*thing{"own": {ID: "own", Shop: otherShop}}}, &optest.Reconciles{}
	toys := &controllerOf{Client: mgr.GetClient(), shops: made, bug: b, engine: &graph.Engine{
		Store:    &ledgers.Store{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Recorder: mgr.GetEventRecorder("test"), Clock: clock.RealClock{}, Poll: poll, Settle: time.Second,
	}}
	g.Expect(ctrl.NewControllerManagedBy(mgr).For(&Toy{}, builder.WithPredicates(graph.ChangedByOthers())).WithOptions(controller.Options{
		NewQueue: reconciles.NewQueue, RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](poll, 4*poll),
	}).Complete(toys)).To(Succeed())
	testenv.Run(t, mgr)
	c, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return &optest.World{
		Client: c, Look: made.look,
		Object: &Toy{
			ObjectMeta: metav1.ObjectMeta{Name: "bear", Namespace: namespace},
			Spec:       ToySpec{Shop: goodShop, Size: 3, Color: "green", Labels: map[string]string{"a": "b"}, Parts: []Part{{Name: "arm", Weight: 2}}},
		},
		Calls: made.count, Reconciles: reconciles.Count, Poll: poll, CallsAtRest: 4, ReconcilesAtRest: 2,
	}
}

// look at what the shops have made.
func (s *shops) look(map[string]any) (all []string, moving bool) {
	_ = s.call(func() error {
		s.calls-- // it is no client's
		for _, t := range s.things {
			all = append(all, optest.Names{}.Text("thing", t, "id"))
		}
		return nil
	})
	return all, false
}

// clear takes out what was made for no toy.
func (s *shops) clear() {
	_ = s.call(func() error {
		maps.DeleteFunc(s.things, func(_ string, t *thing) bool { return t.Tag.Owner == "" })
		return nil
	})
}

func (s *shops) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}
