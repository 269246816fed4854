package dpucluster_test

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/sim/kamaji"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	timeout = time.Minute
	// soon is longer than a call that nothing holds up, and shorter than one that times out.
	soon = 4 * time.Second
)

func TestMain(m *testing.M) { testenv.Main(m) }

type fixture struct {
	*WithT
	t         *testing.T
	namespace string
	host      client.Client
	clusters  *dpucluster.Clusters

	mu   sync.Mutex
	seen map[string]int // events by cluster and object
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{WithT: NewWithT(t), t: t, namespace: testenv.Namespace(t), host: testenv.Client(t), seen: map[string]int{}}
	f.SetDefaultEventuallyTimeout(timeout)
	kamaji.Install(t, testenv.Config(t))
	mgr, err := ctrl.NewManager(testenv.Config(t), ctrl.Options{
		Scheme: testenv.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{f.namespace: {}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	f.Expect(err).NotTo(HaveOccurred())
	options := controller.Options{NewQueue: queue.New[reconcile.Request]}
	f.clusters, err = dpucluster.Setup(mgr, dpucluster.Config{
		Scheme: mgr.GetScheme(), Egress: egress.Policy{Loopback: true}, ProbeInterval: 200 * time.Millisecond,
		Cached: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {}, &svcv1.ServiceChain{}: {}},
	}, options)
	f.Expect(err).NotTo(HaveOccurred())
	watch := reconcile.Func(func(_ context.Context, r ctrl.Request) (ctrl.Result, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seen[r.String()]++
		return ctrl.Result{}, nil
	})
	f.Expect(ctrl.NewControllerManagedBy(mgr).Named("events").For(&svcv1.DPUService{}).WithOptions(options).WatchesRawSource(
		f.clusters.Source(func(_ context.Context, e dpucluster.Event) []ctrl.Request {
			name := types.NamespacedName{Namespace: e.Cluster.Name}
			if e.Object != nil {
				name.Name = e.Object.GetName()
			}
			return []ctrl.Request{{NamespacedName: name}}
		})).Complete(watch)).To(Succeed())
	testenv.Run(t, mgr)
	f.Expect(mgr.GetCache().WaitForCacheSync(t.Context())).To(BeTrue())
	return f
}

func (f *fixture) saw(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[name]
}

// add the kubeconfig of a cluster, as Kamaji does.
func (f *fixture) add(name string, kubeconfig []byte) *corev1.Secret {
	f.t.Helper()
	return kamaji.Kubeconfig(f.t, f.host, f.namespace, name, kubeconfig)
}

// one cluster; nil if it isn't known.
func (f *fixture) one(name string) *dpucluster.Cluster {
	all, err := f.clusters.All(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	for _, c := range all {
		if c.Name == (types.NamespacedName{Namespace: f.namespace, Name: name}) {
			return &c
		}
	}
	return nil
}

func (f *fixture) refused() []dpucluster.Cluster {
	_, refused, err := f.clusters.Seen(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	return refused
}

func (f *fixture) err(name string) func() error {
	return func() error { return f.one(name).Err }
}

func hosts(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(testenv.KubeconfigOf(t, "administrator", "system:masters"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return data
}

func config(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestClusters_comeAndGoWithKamajisSecrets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.add("other", hosts(t))
	secret := f.add("a", hosts(t))
	f.Eventually(func() *dpucluster.Cluster { return f.one("a") }).ShouldNot(BeNil())
	f.Eventually(f.err("a")).Should(Succeed())
	f.Eventually(f.err("other")).Should(Succeed())
	f.Eventually(func() int { return f.saw("a/") }).Should(BeNumerically(">", 0), "the cluster answers")

	made := config(f.namespace, "x")
	f.Expect(f.one("a").Client.Create(t.Context(), made)).To(Succeed())
	f.Eventually(func() int { return f.saw("a/x") }).Should(BeNumerically(">", 0), "a cached kind has events")
	f.Eventually(func() error {
		return f.one("a").Client.Get(t.Context(), client.ObjectKeyFromObject(made), config("", ""))
	}).Should(Succeed())
	f.Expect(f.one("a").Client.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{})).To(Succeed(),
		"another kind is read live")

	matching, others, _, err := f.clusters.Matching(t.Context(), &metav1.LabelSelector{MatchLabels: map[string]string{dpucluster.NameLabel: "a"}})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(matching).To(HaveLen(1))
	f.Expect(others).To(HaveLen(1))
	_, _, _, err = f.clusters.Matching(t.Context(), &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Operator: "x"}}})
	f.Expect(err).To(HaveOccurred())

	events := f.saw("a/")
	secret.Labels["place"] = "here"
	f.Expect(f.host.Update(t.Context(), secret)).To(Succeed())
	f.Eventually(func() int { return f.saw("a/") }).Should(BeNumerically(">", events), "a clusterSelector may choose it now")
	f.Expect(f.one("a").Labels).To(HaveKeyWithValue("place", "here"))
	events = f.saw("a/")
	f.Expect(f.host.Delete(t.Context(), secret)).To(Succeed())
	f.Eventually(func() *dpucluster.Cluster { return f.one("a") }).Should(BeNil())
	f.Eventually(func() int { return f.saw("a/") }).Should(BeNumerically(">", events))
	other.Labels["kamaji.clastix.io/component"] = "something-else"
	f.Expect(f.host.Update(t.Context(), other)).To(Succeed())
	f.Eventually(func() *dpucluster.Cluster { return f.one("other") }).Should(BeNil(), "no kubeconfig any more")
}

// The Secret may hold anything. Its error names the remedy and nothing of it, and what is corrected counts.
func TestClusters_followARotatedKubeconfig(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dpu := testenv.Another(t)
	secret := f.add("a", nil)
	f.Eventually(func() *dpucluster.Cluster { return f.one("a") }).ShouldNot(BeNil())
	f.Eventually(f.err("a")).Should(MatchError(ContainSubstring(`no key "admin.conf"`)))
	put := func(kubeconfig []byte) {
		secret.Data = map[string][]byte{dpucluster.KubeconfigKey: kubeconfig}
		f.Expect(f.host.Update(t.Context(), secret)).To(Succeed())
	}
	put([]byte("apiVersion: v1\nkind: Config\ncurrent-context: s3cret\n"))
	f.Eventually(f.err("a")).Should(MatchError(And(ContainSubstring("can't be used"), Not(ContainSubstring("s3cret")))))
	put(hosts(t))
	f.Eventually(f.err("a")).Should(Succeed())
	f.Expect(f.one("a").Client.Get(t.Context(), client.ObjectKey{Name: f.namespace}, &corev1.Namespace{})).To(Succeed())

	put(dpu.Kubeconfig)
	inNew := config("default", "in-new")
	f.Expect(dpu.Client.Create(t.Context(), inNew)).To(Succeed())
	f.Eventually(func() error {
		if c := f.one("a"); c.Client != nil {
			return c.Client.Get(t.Context(), client.ObjectKeyFromObject(inNew), config("", ""))
		}
		return f.one("a").Err
	}).Should(Succeed(), "the client leads to the cluster of the new kubeconfig")

	crds := testenv.AddCRDs(t, dpu.Config, "dpf/crd/bases")
	f.Expect(crds).To(BeNumerically(">", 0))
	chain := &svcv1.ServiceChain{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late"}, Spec: svcv1.ServiceChainSpec{
		Switches: []svcv1.Switch{{Ports: []svcv1.Port{{ServiceInterface: svcv1.ServiceIfc{MatchLabels: map[string]string{"a": "b"}}}}}},
	}}
	f.Eventually(func() error { return dpu.Client.Create(t.Context(), chain) }).Should(Succeed())
	f.Eventually(func() int { return f.saw("a/late") }).Should(BeNumerically(">", 0), "a kind is cached as soon as the cluster knows it")
}

// The peer stops at the first cluster that doesn't answer.
func TestClusters_thatDontAnswerHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dpu := testenv.Another(t)
	f.add("a", dpu.Kubeconfig)
	f.add("b", hosts(t))
	f.Eventually(func() *dpucluster.Cluster { return f.one("b") }).ShouldNot(BeNil())
	f.Eventually(func() *dpucluster.Cluster { return f.one("a") }).ShouldNot(BeNil())
	f.Eventually(f.err("a")).Should(Succeed())
	f.Eventually(f.err("b")).Should(Succeed())
	both := config("default", "before-"+f.namespace)
	f.Expect(dpu.Client.Create(t.Context(), both)).To(Succeed())

	seen := func(name string) time.Duration {
		began := time.Now()
		f.Expect(f.one("b").Client.Create(t.Context(), config(f.namespace, name))).To(Succeed())
		f.Eventually(func() int { return f.saw("b/" + name) }).Should(BeNumerically(">", 0))
		return time.Since(began)
	}
	calm := seen("x")
	resume := dpu.Suspend(t)
	f.Eventually(f.err("a")).Should(MatchError(ContainSubstring("doesn't answer in time")))
	f.Expect(f.one("a").Client).To(BeNil())
	f.Expect(seen("y")).To(BeNumerically("<", max(soon, 4*calm)), "with both it took %s: more only where others have the CPUs", calm)

	events := f.saw("a/")
	resume()
	f.Eventually(f.err("a")).Should(Succeed())
	f.Eventually(func() int { return f.saw("a/") }).Should(BeNumerically(">", events), "it is told that the cluster answers again")
	f.Expect(dpu.Client.Create(t.Context(), config("default", "after"))).To(Succeed())
	f.Eventually(func() int { return f.saw("a/after") }).Should(BeNumerically(">", 0), "its cache goes on")

	dpu.Stop()
	f.Eventually(f.err("a")).Should(MatchError(ContainSubstring("can't be called: dial: connect: connection refused")))
	f.Expect(f.err("b")()).NotTo(HaveOccurred())
}

// Who may create Secrets in some namespace gets no pull secrets by Kamaji's labels: its TenantControlPlane has to be the controller. Such a
// Secret is seen, and holds up no other cluster.
func TestClusters_areOnlyThoseOfTenantControlPlanes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.add("mine", hosts(t))
	owner := *metav1.GetControllerOf(mine)
	forge := func(cluster, name string, change func(*metav1.OwnerReference)) *corev1.Secret {
		forged := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name, Labels: dpucluster.SecretLabels(cluster)}, Data: mine.Data,
		}
		if change != nil {
			reference := owner
			change(&reference)
			forged.OwnerReferences = []metav1.OwnerReference{reference}
		}
		f.Expect(f.host.Create(t.Context(), forged)).To(Succeed())
		return forged
	}
	forge("none", "none-admin-kubeconfig", nil)
	forge("gone", "gone-admin-kubeconfig", func(o *metav1.OwnerReference) { o.Name = "gone" })
	forge("other-kind", "other-kind-admin-kubeconfig", func(o *metav1.OwnerReference) { o.Name, o.Kind = "other-kind", "Deployment" })
	forge("no-controller", "no-controller-admin-kubeconfig", func(o *metav1.OwnerReference) { o.Name, o.Controller = "no-controller", nil })
	forge("mine", "a-second", func(*metav1.OwnerReference) {}) // and it comes first
	old := f.add("uid", hosts(t))
	old.OwnerReferences[0].UID = "another"
	f.Expect(f.host.Update(t.Context(), old)).To(Succeed())

	f.Eventually(func() (names []string) {
		for _, c := range f.refused() {
			f.Expect(c.Access).To(BeNil())
			f.Expect(c.Err).To(MatchError(ContainSubstring("isn't the one that TenantControlPlane " + c.Name.String() + " controls: delete it")))
			names = append(names, c.Name.Name)
		}
		return names
	}).Should(Equal([]string{"gone", "mine", "no-controller", "none", "other-kind", "uid"}))
	all, err := f.clusters.All(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(all).To(HaveLen(1), "%v", all)
	f.Eventually(f.err("mine")).Should(Succeed())

	old.OwnerReferences[0].UID = kamaji.UID(t, f.host, f.namespace, "uid")
	f.Expect(f.host.Update(t.Context(), old)).To(Succeed())
	f.Eventually(func() *dpucluster.Cluster { return f.one("uid") }).ShouldNot(BeNil(), "it is corrected")
	f.Eventually(f.err("uid")).Should(Succeed())
}

// Whoever may create TenantControlPlanes gets no pull secrets and no services by that: an administrator allows it.
func TestClusters_areInAllowedNamespacesOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add("a", hosts(t))
	f.Eventually(f.one).WithArguments("a").ShouldNot(BeNil())
	f.Eventually(f.err("a")).Should(Succeed())
	kamaji.Allow(t, f.host, f.namespace, false)
	f.Eventually(f.one).WithArguments("a").Should(BeNil())
	refused := f.refused()
	f.Expect(refused).To(HaveLen(1))
	f.Expect(refused[0].Access).To(BeNil())
	f.Expect(refused[0].Err).To(And(MatchError(dpucluster.ErrNotAllowed), MatchError(ContainSubstring(
		"kubectl label namespace "+f.namespace+" dpf.nvidia.com/dpuservices=allowed"))))
	all, done, err := dpucluster.Look(t.Context(), f.host, testenv.Scheme(t), egress.Policy{Loopback: true})
	f.Expect(err).NotTo(HaveOccurred())
	defer done()
	f.Expect(all).NotTo(ContainElement(HaveField("Name.Namespace", f.namespace)))
	kamaji.Allow(t, f.host, f.namespace, true)
	f.Eventually(f.one).WithArguments("a").ShouldNot(BeNil())
	f.Eventually(f.err("a")).Should(Succeed())
}

// It is one or the other at each moment: what is neither counts as gone, and what it has is left behind, or taken away.
func TestClusters_areSeenWhileTheirNamespaceIsAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := f.add("a", hosts(t))
	f.Eventually(f.one).WithArguments("a").ShouldNot(BeNil())
	var toggling sync.WaitGroup
	var refusals atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	toggling.Go(func() {
		defer stop()
		const times, most = 40, 600
		for i := 0; i < times || refusals.Load() == 0 && i < most; i++ { // until one was seen, however late it is noticed
			kamaji.Allow(t, f.host, f.namespace, i%2 == 1)
			touch := []byte(`{"metadata":{"annotations":{"touched":"` + time.Now().String() + `"}}}`)
			f.Expect(f.host.Patch(t.Context(), secret.DeepCopy(), client.RawPatch(types.MergePatchType, touch))).To(Succeed())
			time.Sleep(50 * time.Millisecond)
		}
	})
	looks, missed := 0, 0
	for ; ctx.Err() == nil; looks++ {
		all, refused, err := f.clusters.Seen(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		if len(all)+len(refused) == 0 {
			missed++
		}
		refusals.Add(int64(len(refused)))
	}
	toggling.Wait()
	f.Expect(refusals.Load()).To(BeNumerically(">", 0))
	f.Expect(missed).To(BeZero(), "of %d looks", looks)
}
