package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/krake/scheduler"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	patience = 2 * time.Minute // tests of other packages may have the CPUs
	// poll is longer than a test: it is events that wake the controllers.
	poll = time.Hour
)

// fixture is a namespace with the scheduler, which may watch more of them. Clouds carry the namespace as a label "of", because
// GlobalClouds are those of all tests.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.Client
	namespace string
}

func start(t *testing.T, poll time.Duration, also ...string) *fixture {
	t.Helper()
	f := &fixture{NewWithT(t), t, testenv.Client(t), testenv.Namespace(t)}
	f.SetDefaultEventuallyTimeout(patience)
	f.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	watched := map[string]cache.Config{f.namespace: {}}
	for _, namespace := range also {
		watched[namespace] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(testenv.Config(t), ctrl.Options{
		Scheme: testenv.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: watched},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}, // each test has a manager
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(scheduler.Setup(mgr, scheduler.Config{
		Egress: egress.Policy{Loopback: true}, Poll: poll, Clock: clock.RealClock{},
		Options: controller.Options{MaxConcurrentReconciles: 2, NewQueue: queue.New[reconcile.Request]},
	})).To(Succeed())
	testenv.Run(t, mgr)
	return f
}

func (f *fixture) create(object client.Object) {
	f.t.Helper()
	f.Expect(f.client.Create(f.t.Context(), object)).To(Succeed())
}

func (f *fixture) meta(name string, labels ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: f.namespace, Name: name, Labels: map[string]string{"of": f.namespace}}
	for i := 0; i < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	return m
}

func (f *fixture) cluster(name string, labels ...string) *krakev1.Cluster {
	f.t.Helper()
	cloud := &krakev1.CloudConstraints{Labels: append([]string{"of is " + f.namespace}, labels...)}
	c := &krakev1.Cluster{ObjectMeta: f.meta(name), Spec: krakev1.ClusterSpec{TOSCA: "a: b", Constraints: &krakev1.Constraints{Cloud: cloud}}}
	f.create(c)
	return c
}

func spec(metrics ...string) krakev1.CloudSpec {
	im := &krakev1.IMCloud{SecretRef: krakev1.SecretReference{Name: "cloud"}}
	im.InfrastructureProvider.Name = "im"
	for _, name := range metrics {
		im.Metrics = append(im.Metrics, krakev1.MetricReference{Name: name, Weight: 1, Namespaced: true})
	}
	return krakev1.CloudSpec{Type: krakev1.CloudTypeIM, IM: im}
}

func (f *fixture) cloud(name string, labels ...string) *krakev1.Cloud {
	f.t.Helper()
	c := &krakev1.Cloud{ObjectMeta: f.meta(name, labels...), Spec: spec()}
	f.create(c)
	return c
}

// global is a GlobalCloud, which goes with the test.
func (f *fixture) global(name string) *krakev1.GlobalCloud {
	f.t.Helper()
	c := &krakev1.GlobalCloud{ObjectMeta: f.meta(f.namespace + "-" + name), Spec: spec()}
	c.Namespace = ""
	f.create(c)
	f.t.Cleanup(func() { _ = f.client.Delete(context.Background(), c) })
	return c
}

// change an object that the controllers may be writing as well.
func change[T client.Object](f *fixture, object T, to func(T)) {
	f.t.Helper()
	f.read(object)
	before := object.DeepCopyObject().(client.Object)
	to(object)
	f.Expect(f.client.Patch(f.t.Context(), object, client.MergeFrom(before))).To(Succeed())
}

// changeStatus of an object.
func changeStatus[T client.Object](f *fixture, object T, to func(T)) {
	f.t.Helper()
	f.read(object)
	before := object.DeepCopyObject().(client.Object)
	to(object)
	f.Expect(f.client.Status().Patch(f.t.Context(), object, client.MergeFrom(before))).To(Succeed())
}

func (f *fixture) read(object client.Object) {
	f.t.Helper()
	f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
}

// until the condition Scheduled of a Cluster has a reason, and its message some text.
func (f *fixture) until(c *krakev1.Cluster, reason, text string) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
		g.Expect(meta.FindStatusCondition(c.Status.Conditions, krakev1.ScheduledCondition)).To(
			HaveValue(And(HaveField("Reason", reason), HaveField("Message", ContainSubstring(text)))))
	}).Should(Succeed())
}

func (f *fixture) untilBound(c *krakev1.Cluster, to krakev1.CloudReference) {
	f.t.Helper()
	f.until(c, scheduler.ReasonBound, to.String()+": ")
	f.Expect(c.Status.ScheduledTo).To(HaveValue(Equal(to)))
}

func TestScheduler_bindsAndSaysWhy(t *testing.T) {
	t.Parallel()
	f := start(t, poll)
	a, b := f.cloud("a", "location", "IT"), f.cloud("b", "location", "DE")
	f.global("g")
	c := f.cluster("demo", "location is DE")
	f.untilBound(c, b.Reference())
	f.until(c, scheduler.ReasonBound, `Cloud a: label "location is DE" isn't met: it is IT`)
	f.Expect(c.Status.State).To(Equal(krakev1.StatePending))
	f.Expect(c.Status.Reason).To(BeNil())
	f.Expect(c.Status.ScheduledAt.Time).To(BeTemporally("~", time.Now(), time.Minute))
	f.Eventually(func(g Gomega) {
		var events eventsv1.EventList
		g.Expect(f.client.List(t.Context(), &events, client.InNamespace(f.namespace))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(HaveField("Reason", scheduler.ReasonBound), HaveField("Type", "Normal"),
			HaveField("Regarding.Name", "demo"), HaveField("Note", And(ContainSubstring("Cloud b: chosen"), ContainSubstring("Cloud a: label"))))))
	}).Should(Succeed())
	f.Eventually(func() int32 { f.read(b); return b.Status.Clusters }).Should(BeEquivalentTo(1))
	f.Expect(b.Status.State).To(Equal(krakev1.CloudOnline))

	// It stays there: neither another label nor a deleted cloud binds it again.
	f.Expect(f.client.Delete(t.Context(), b)).To(Succeed())
	change(f, a, func(c *krakev1.Cloud) { c.Labels["location"] = "DE" })
	witness := f.cluster("witness", "location is DE")
	f.untilBound(witness, a.Reference())
	f.untilBound(c, b.Reference())
	f.Expect(f.client.Delete(t.Context(), c)).To(Succeed())
	f.Eventually(func() int32 { f.read(a); return a.Status.Clusters }).Should(BeEquivalentTo(1))
}

func TestScheduler_wakesUpWhenAnythingChanges(t *testing.T) {
	t.Parallel()
	f := start(t, poll)
	none := f.cluster("none")
	f.until(none, scheduler.ReasonNoSuitableCloud, "no cloud")
	f.Expect(none.Status.Reason).To(HaveValue(HaveField("Code", krakev1.ReasonNoSuitableResource)))
	f.Expect(none.Status.State).To(Equal(krakev1.StatePending))
	f.untilBound(none, f.global("g").Reference())
	f.Expect(none.Status.Reason).To(BeNil())

	label := f.cluster("label", "tier is 1")
	f.until(label, scheduler.ReasonNoSuitableCloud, "it has no such label")
	cloud := f.cloud("cloud")
	f.until(label, scheduler.ReasonNoSuitableCloud, `Cloud cloud: label "tier is 1" isn't met`)
	change(f, cloud, func(c *krakev1.Cloud) { c.Labels["tier"] = "1" })
	f.untilBound(label, cloud.Reference())

	metric := &krakev1.Cluster{ObjectMeta: f.meta("metric"), Spec: *label.Spec.DeepCopy()}
	metric.Spec.Constraints.Cloud.Metrics = []string{"load lte 0.5"}
	f.create(metric)
	f.until(metric, scheduler.ReasonNoSuitableCloud, "it has no such metric")
	change(f, cloud, func(c *krakev1.Cloud) { c.Spec = spec("load") })
	f.until(metric, scheduler.ReasonNoSuitableCloud, "Metric load doesn't exist: create it")
	f.Eventually(func() krakev1.CloudState { f.read(cloud); return cloud.Status.State }).Should(Equal(krakev1.CloudFailingMetrics))
	f.Expect(cloud.Status.MetricsReasons).To(HaveKeyWithValue("load", HaveField("Code", krakev1.ReasonUnknownMetric)))
	f.create(&krakev1.Metric{ObjectMeta: f.meta("load"), Spec: metricOf("", "static", "x").Spec})
	f.until(metric, scheduler.ReasonNoSuitableCloud, "MetricsProvider static doesn't exist: create it")
	provider := &krakev1.MetricsProvider{ObjectMeta: f.meta("static"), Spec: static("", map[string]float64{"x": 0.75}).Spec}
	f.create(provider)
	f.until(metric, scheduler.ReasonNoSuitableCloud, `metric "load <= 0.5" isn't met: it is 0.75`)
	change(f, provider, func(p *krakev1.MetricsProvider) { p.Spec.Static.Metrics["x"] = 0.5 })
	f.untilBound(metric, cloud.Reference())
}

// More than a condition has room for: the API server would refuse the whole status.
func TestCloud_withLongNamesOfMetricsHasAStatus(t *testing.T) {
	t.Parallel()
	f := start(t, poll)
	var names []string
	for i := range 16 {
		name := fmt.Sprintf("m%d", i)
		names = append(names, name)
		f.create(&krakev1.Metric{ObjectMeta: f.meta(name), Spec: metricOf("", "static", strings.Repeat("\u200b", 4096)).Spec})
	}
	f.create(&krakev1.MetricsProvider{ObjectMeta: f.meta("static"), Spec: static("", map[string]float64{"x": 1}).Spec})
	cloud := f.cloud("cloud")
	change(f, cloud, func(c *krakev1.Cloud) { c.Spec = spec(names...) })
	f.Eventually(func() krakev1.CloudState { f.read(cloud); return cloud.Status.State }).Should(Equal(krakev1.CloudFailingMetrics))
	f.Expect(cloud.Status.MetricsReasons).To(HaveLen(16))
}

// No event says that a cloud's metric has another value.
func TestScheduler_looksAtMetricsAgain(t *testing.T) {
	t.Parallel()
	f := start(t, 100*time.Millisecond)
	cloud := f.cloud("cloud")
	change(f, cloud, func(c *krakev1.Cloud) { c.Spec = spec("load") })
	state := func() krakev1.CloudState { f.read(cloud); return cloud.Status.State }
	f.Eventually(state).Should(Equal(krakev1.CloudFailingMetrics))
	f.create(&krakev1.MetricsProvider{ObjectMeta: f.meta("static"), Spec: static("", map[string]float64{"x": 1}).Spec})
	f.create(&krakev1.Metric{ObjectMeta: f.meta("load"), Spec: metricOf("", "static", "x").Spec})
	f.Eventually(state).Should(Equal(krakev1.CloudOnline))
	f.Expect(cloud.Status.MetricsReasons).To(BeEmpty())
	f.Expect(meta.IsStatusConditionTrue(cloud.Status.Conditions, krakev1.MetricsAvailableCondition)).To(BeTrue())
}

func TestScheduler_skipsWhatItMustNotBind(t *testing.T) {
	t.Parallel()
	f := start(t, poll)
	registered := f.meta("registered")
	f.create(&krakev1.Cluster{ObjectMeta: registered, Spec: krakev1.ClusterSpec{
		Kubeconfig: &krakev1.Kubeconfig{SecretRef: krakev1.SecretReference{Name: "a"}},
	}})
	paused := &krakev1.Cluster{ObjectMeta: f.meta("paused"), Spec: krakev1.ClusterSpec{TOSCA: "a: b", Paused: true}}
	f.create(paused)
	failed, deleted := f.cluster("failed"), &krakev1.Cluster{ObjectMeta: f.meta("deleted"), Spec: krakev1.ClusterSpec{TOSCA: "a: b"}}
	f.until(failed, scheduler.ReasonNoSuitableCloud, "")
	changeStatus(f, failed, func(c *krakev1.Cluster) { c.Status.State = krakev1.StateFailed })
	deleted.Spec.Constraints = failed.Spec.Constraints
	deleted.Finalizers = []string{"bedplate.dev/test"}
	f.create(deleted)
	f.until(deleted, scheduler.ReasonNoSuitableCloud, "")
	f.Expect(f.client.Delete(t.Context(), deleted)).To(Succeed())
	bound := f.cluster("bound")
	f.until(bound, scheduler.ReasonNoSuitableCloud, "")
	changeStatus(f, bound, func(c *krakev1.Cluster) {
		c.Status.ScheduledTo = &krakev1.CloudReference{Kind: krakev1.KindCloud, Name: "gone"}
	})

	witness := f.cluster("witness")
	f.untilBound(witness, f.cloud("cloud").Reference())
	for _, c := range []string{"registered", "paused", "failed", "deleted"} {
		cluster := &krakev1.Cluster{ObjectMeta: f.meta(c)}
		to := func() *krakev1.CloudReference { f.read(cluster); return cluster.Status.ScheduledTo }
		f.Consistently(to, 200*time.Millisecond).Should(BeNil(), c)
	}
	f.read(bound)
	f.Expect(bound.Status.ScheduledTo.Name).To(Equal("gone"))

	change(f, paused, func(c *krakev1.Cluster) { c.Spec.Paused = false })
	f.until(paused, scheduler.ReasonBound, "")
	changeStatus(f, failed, func(c *krakev1.Cluster) { c.Status.State = krakev1.StatePending })
	f.untilBound(failed, krakev1.CloudReference{Kind: krakev1.KindCloud, Name: "cloud"})
	change(f, deleted, func(c *krakev1.Cluster) { c.Finalizers = nil })
}

func (f *fixture) bind(name, cluster string, cloud krakev1.CloudReference) *krakev1.CloudBinding {
	f.t.Helper()
	b := &krakev1.CloudBinding{ObjectMeta: f.meta(name)}
	b.Spec = krakev1.CloudBindingSpec{Cluster: krakev1.ClusterReference{Name: cluster}, Cloud: cloud}
	f.create(b)
	return b
}

func (f *fixture) untilBinding(b *krakev1.CloudBinding, reason, text string) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		g.Expect(meta.FindStatusCondition(b.Status.Conditions, krakev1.BoundCondition)).To(
			HaveValue(And(HaveField("Reason", reason), HaveField("Message", ContainSubstring(text)))))
	}).Should(Succeed())
}

func TestCloudBinding_isFollowedWhateverTheConstraintsAre(t *testing.T) {
	t.Parallel()
	f := start(t, poll)
	f.cloud("best", "location", "DE")
	other := krakev1.CloudReference{Kind: krakev1.KindCloud, Name: "other"}
	binding := f.bind("by-hand", "demo", other)
	f.untilBinding(binding, scheduler.ReasonNotFound, "Cluster demo doesn't exist: it is bound when it is written")
	cluster := f.cluster("demo", "location is DE")
	f.until(cluster, scheduler.ReasonNotFound, "Cloud other: named by CloudBinding by-hand, doesn't exist")
	f.Expect(cluster.Status.Reason).To(HaveValue(HaveField("Code", krakev1.ReasonNotFound)))
	f.untilBinding(binding, scheduler.ReasonNotFound, "Cloud other: named by CloudBinding by-hand, doesn't exist")
	f.cloud("other", "location", "IT")
	f.untilBound(cluster, other)
	f.untilBinding(binding, scheduler.ReasonBound, "")

	late := f.bind("late", "demo", krakev1.CloudReference{Kind: krakev1.KindGlobalCloud, Name: "g"})
	f.untilBinding(late, scheduler.ReasonAlreadyBound, "Cluster demo is bound to Cloud other, where it stays: delete this CloudBinding")
	f.read(cluster)
	f.Expect(cluster.Status.ScheduledTo).To(HaveValue(Equal(other)))

	global := f.global("g").Reference()
	waits := f.cluster("waits", "location is FR")
	f.until(waits, scheduler.ReasonNoSuitableCloud, "")
	f.bind("global", "waits", global)
	f.untilBound(waits, global)

	f.create(&krakev1.Cluster{ObjectMeta: f.meta("registered"), Spec: krakev1.ClusterSpec{
		Kubeconfig: &krakev1.Kubeconfig{SecretRef: krakev1.SecretReference{Name: "a"}},
	}})
	f.untilBinding(f.bind("registered", "registered", other), scheduler.ReasonNotBindable, "Cluster registered has a kubeconfig")
}

// Admission may have been away.
func TestScheduler_saysThatAConstraintCantBeRead(t *testing.T) {
	t.Parallel()
	f := start(t, poll)
	f.cloud("cloud")
	c := f.cluster("demo", "location in DE")
	f.until(c, scheduler.ReasonInvalid, `constraint "location in DE" on labels: column 13: expected "(", found "DE". Correct it`)
	f.Expect(c.Status.Reason).To(HaveValue(HaveField("Code", krakev1.ReasonInvalidResource)))
	change(f, c, func(c *krakev1.Cluster) { c.Spec.Constraints.Cloud.Labels = c.Spec.Constraints.Cloud.Labels[:1] })
	f.untilBound(c, krakev1.CloudReference{Kind: krakev1.KindCloud, Name: "cloud"})
}
