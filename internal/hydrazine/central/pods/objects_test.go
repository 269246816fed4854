package pods_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/central/pods"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	patience = 30 * time.Second
	blue     = "ovn-6f1c2a34-0000-4000-8000-00000000b1ce"
)

var node = netip.MustParseAddr("172.18.0.2")

// fixture is a runtime in a namespace of its own. No kubelet is there: the test says what becomes of Pods.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.WithWatch
	namespace string
	config    pods.Config
	writes    *writes
	runtime   *pods.Runtime
	access    *rest.Config                        // of the runtime
	with      func(context.Context, ctrl.Manager) // what else the manager has
	stop      func()
}

func start(t *testing.T, change ...func(*pods.Config)) *fixture {
	t.Helper()
	f := &fixture{WithT: NewWithT(t), t: t, client: testenv.Client(t), namespace: testenv.Namespace(t), writes: &writes{}}
	f.SetDefaultEventuallyTimeout(patience)
	f.config = pods.Config{Namespace: f.namespace, Manager: "managers", Image: "central:1", Service: corev1.ServiceTypeNodePort, Address: node}
	for _, c := range change {
		c(&f.config)
	}
	f.namespace, f.access = f.config.Namespace, testenv.Config(t)
	t.Cleanup(func() { f.stop() })
	f.stop = func() {}
	return f.run()
}

// run the runtime. Called again, it starts it anew, without anything that it knew.
func (f *fixture) run() *fixture {
	f.t.Helper()
	f.stop()
	config := rest.CopyConfig(f.access)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return f.writes.count(next) })
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: testenv.Scheme(f.t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{f.namespace: {}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.runtime, err = pods.New(mgr, f.config)
	f.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	if f.with != nil {
		f.with(ctx, mgr)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	f.stop = func() {
		cancel()
		f.Eventually(ended).Should(Receive())
		f.stop = func() {}
	}
	f.Eventually(mgr.Elected()).Should(BeClosed())
	return f
}

// writes to the API server that a runtime has asked for.
type writes struct {
	mutex   sync.Mutex
	all     []string
	refused string // objects that can't be read
}

func (w *writes) refuse(plural string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.refused = plural
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (w *writes) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		w.mutex.Lock()
		if request.Method != http.MethodGet {
			w.all = append(w.all, request.Method+" "+request.URL.Path)
		}
		away := request.Method == http.MethodGet && w.refused != "" && strings.Contains(request.URL.Path, "/"+w.refused+"/")
		w.mutex.Unlock()
		if away {
			return nil, errors.New("the API server is away")
		}
		return next.RoundTrip(request)
	})
}

func (w *writes) take() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	defer func() { w.all = nil }()
	return w.all
}

// ensure that nothing is in the way but what a kubelet would do.
func (f *fixture) ensure(group string) {
	f.t.Helper()
	_, err := f.runtime.Ensure(f.t.Context(), group)
	f.Expect(err).To(Or(BeNil(), MatchError(central.ErrOnItsWay)))
}

// settled waits until the runtime has nothing to write any more: it hears late of what it has written.
func (f *fixture) settled(group string) {
	f.t.Helper()
	f.Eventually(func() []string {
		f.writes.take()
		f.ensure(group)
		return f.writes.take()
	}).Should(BeEmpty())
}

func kinds() []client.Object {
	return []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}, &corev1.Secret{}}
}

func (f *fixture) get(group string, into client.Object) error {
	return f.client.Get(f.t.Context(), client.ObjectKey{Namespace: f.namespace, Name: group}, into)
}

// pod is what a kubelet and a controller would make of the Deployment.
func (f *fixture) pod(group, ip string) *corev1.Pod {
	f.t.Helper()
	d := &appsv1.Deployment{}
	f.Expect(f.get(group, d)).To(Succeed())
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, GenerateName: group + "-", Labels: d.Spec.Template.Labels},
		Spec:       d.Spec.Template.Spec,
	}
	f.Expect(f.client.Create(f.t.Context(), p)).To(Succeed())
	f.t.Cleanup(func() { _ = f.client.Delete(context.Background(), p, client.GracePeriodSeconds(0)) })
	f.say(p, ip, corev1.ConditionTrue)
	return p
}

func (f *fixture) say(p *corev1.Pod, ip string, ready corev1.ConditionStatus) {
	f.t.Helper()
	p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	if p.Status.Phase != corev1.PodFailed {
		p.Status.Phase = corev1.PodRunning
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	f.Expect(f.client.Status().Update(f.t.Context(), p)).To(Succeed())
}

// hears of the group within some time.
func (f *fixture) hears(group string) {
	f.t.Helper()
	f.Eventually(f.runtime.Died()).Should(Receive(Equal(group)))
}

// quiet drains what the runtime has to tell.
func (f *fixture) quiet() {
	for {
		select {
		case <-f.runtime.Died():
		case <-time.After(300 * time.Millisecond):
			return
		}
	}
}

func TestCentral_isMadeOnceAndStaysAsItIs(t *testing.T) {
	t.Parallel()
	f := start(t)
	_, err := f.runtime.Ensure(t.Context(), blue)
	f.Expect(err).To(MatchError(central.ErrOnItsWay))
	f.Expect(err).To(MatchError(ContainSubstring("no Pod yet")))
	f.Expect(f.writes.take()).To(HaveLen(len(kinds())))
	f.settled(blue)
	for _, object := range kinds() {
		f.Expect(f.get(blue, object)).To(Succeed())
		f.Expect(object.GetLabels()).To(HaveKeyWithValue("resource.bedplate.dev/central", blue))
	}
	f.run() // another one finds it as it is
	f.ensure(blue)
	f.Expect(f.writes.take()).To(BeEmpty())
}

func TestCentral_isWhereItsPodIs(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.ensure(blue)
	p := f.pod(blue, "10.244.0.7")
	var c central.Central
	f.Eventually(func() (err error) {
		c, err = f.runtime.Ensure(t.Context(), blue)
		return err
	}).Should(Succeed())
	service := &corev1.Service{}
	f.Expect(f.get(blue, service)).To(Succeed())
	f.Expect(c.Northbound).To(Equal("ssl:10.244.0.7:6641"))
	f.Expect(c.Southbound).To(Equal("ssl:10.244.0.7:6643"))
	f.Expect(c.Listen).To(Equal("pssl:6642:[10.244.0.7]"))
	f.Expect(c.ForDPUs).To(HavePrefix("ssl:172.18.0.2:3"), "the node port")
	f.Expect(c.Authority).NotTo(BeNil())
	f.Expect(f.runtime.Ensure(t.Context(), blue)).To(Equal(c), "so that nobody connects anew")

	f.quiet()
	f.say(p, "10.244.0.7", corev1.ConditionFalse)
	f.hears(blue)
	f.Eventually(func() error {
		_, err := f.runtime.Ensure(t.Context(), blue)
		return err
	}).Should(MatchError(ContainSubstring("its Pod " + p.Name + " isn't ready")))
}

// Two Pods at a time are one that goes and one that comes. What was written to one must not open the other.
func TestCentral_isOnePodOnly(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.ensure(blue)
	p := f.pod(blue, "10.244.0.7")
	p.Finalizers = []string{"bedplate.dev/test"} // a node that is lost
	f.Expect(f.client.Update(t.Context(), p)).To(Succeed())
	f.Expect(f.client.Delete(t.Context(), p)).To(Succeed())
	t.Cleanup(func() {
		p.Finalizers = nil
		_ = f.client.Patch(context.Background(), p, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	})
	f.Eventually(func() error {
		_, err := f.runtime.Ensure(t.Context(), blue)
		return err
	}).Should(MatchError(ContainSubstring("no Pod yet")))
	evicted := f.pod(blue, "10.244.0.8")
	evicted.Status.Phase = corev1.PodFailed
	f.say(evicted, "10.244.0.8", corev1.ConditionFalse)
	f.Eventually(func() error {
		_, err := f.runtime.Ensure(t.Context(), blue)
		return err
	}).Should(MatchError(ContainSubstring("no Pod yet")))
	f.pod(blue, "fd00::9")
	f.Eventually(func() (string, error) {
		c, err := f.runtime.Ensure(t.Context(), blue)
		return c.Northbound + " " + c.Southbound + " " + c.Listen, err
	}).Should(Equal("ssl:[fd00::9]:6641 ssl:[fd00::9]:6643 pssl:6642:[fd00::9]"))
}

func TestLoadBalancer_saysWhereDPUsComeIn(t *testing.T) {
	t.Parallel()
	f := start(t, func(c *pods.Config) { c.Service, c.Address = corev1.ServiceTypeLoadBalancer, netip.Addr{} })
	f.ensure(blue)
	f.pod(blue, "10.244.0.7")
	_, err := f.runtime.Ensure(t.Context(), blue)
	f.Expect(err).To(And(MatchError(central.ErrOnItsWay), MatchError(ContainSubstring("no address of a load balancer"))))
	service := &corev1.Service{}
	f.Expect(f.get(blue, service)).To(Succeed())
	f.quiet()
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "172.18.9.9"}}
	f.Expect(f.client.Status().Update(t.Context(), service)).To(Succeed())
	f.hears(blue)
	f.Eventually(func() (string, error) {
		c, err := f.runtime.Ensure(t.Context(), blue)
		return c.ForDPUs, err
	}).Should(Equal("ssl:172.18.9.9:6642"))
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}}
	f.Expect(f.client.Status().Update(t.Context(), service)).To(Succeed())
	f.Eventually(func() error {
		_, err := f.runtime.Ensure(t.Context(), blue)
		return err
	}).Should(MatchError("its load balancer is called lb.example.com, and DPUs need an address"))
}

func TestCentral_thatSomebodyChangesIsRepaired(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.ensure(blue)
	f.settled(blue)
	service := &corev1.Service{}
	f.Expect(f.get(blue, service)).To(Succeed())
	port := service.Spec.Ports[0].NodePort
	for name, c := range map[string]struct {
		object client.Object
		patch  string
		right  func() bool
	}{
		"replicas": {&appsv1.Deployment{}, `{"spec":{"replicas":2}}`, func() bool {
			d := &appsv1.Deployment{}
			return f.get(blue, d) == nil && *d.Spec.Replicas == 1
		}},
		"policy": {&networkingv1.NetworkPolicy{}, `{"spec":{"ingress":[{}]}}`, func() bool {
			p := &networkingv1.NetworkPolicy{}
			return f.get(blue, p) == nil && len(p.Spec.Ingress) == 2 && len(p.Spec.Ingress[0].From) == 1
		}},
		"selector": {&corev1.Service{}, `{"spec":{"selector":{"resource.bedplate.dev/central":"red"}}}`, func() bool {
			s := &corev1.Service{}
			return f.get(blue, s) == nil && s.Spec.Selector["resource.bedplate.dev/central"] == blue && s.Spec.Ports[0].NodePort == port
		}},
		"digest": {&appsv1.Deployment{}, `{"metadata":{"annotations":{"resource.bedplate.dev/applied":"old"}}}`, func() bool {
			d := &appsv1.Deployment{}
			return f.get(blue, d) == nil && d.Annotations["resource.bedplate.dev/applied"] != "old"
		}},
	} {
		f.quiet()
		c.object.SetNamespace(f.namespace)
		c.object.SetName(blue)
		f.Expect(f.client.Patch(t.Context(), c.object, client.RawPatch("application/merge-patch+json", []byte(c.patch)))).To(Succeed(), name)
		f.hears(blue)
		f.Eventually(func() bool { f.ensure(blue); return c.right() }).Should(BeTrue(), name)
	}
	f.settled(blue)
}

// kubectl rollout restart, or a label of somebody's own.
func TestCentral_keepsWhatOthersAdd(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.ensure(blue)
	f.settled(blue)
	d := &appsv1.Deployment{}
	f.Expect(f.get(blue, d)).To(Succeed())
	f.Expect(f.client.Patch(t.Context(), d, client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)))).To(Succeed())
	f.settled(blue)
	f.config.Image = "central:2"
	f.run()
	f.settled(blue)
	f.Expect(f.get(blue, d)).To(Succeed())
	f.Expect(d.Spec.Template.Annotations).To(HaveKey("kubectl.kubernetes.io/restartedAt"))
}

func TestCentral_getsAnotherImage(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.ensure(blue)
	f.settled(blue)
	before, secret := &appsv1.Deployment{}, &corev1.Secret{}
	f.Expect(f.get(blue, before)).To(Succeed())
	f.Expect(f.get(blue, secret)).To(Succeed())
	f.config.Image = "central:2"
	f.run()
	f.ensure(blue)
	f.Expect(f.writes.take()).To(ConsistOf(HaveSuffix("/deployments/" + blue)))
	after := &appsv1.Deployment{}
	f.Expect(f.get(blue, after)).To(Succeed())
	for _, c := range slices.Concat(after.Spec.Template.Spec.InitContainers, after.Spec.Template.Spec.Containers) {
		f.Expect(c.Image).To(Equal("central:2"), c.Name)
	}
	f.Expect(after.UID).To(Equal(before.UID))
	f.Expect(after.Generation).To(Equal(before.Generation + 1))
	f.Expect(after.Spec.Strategy.Type).To(Equal(appsv1.RecreateDeploymentStrategyType), "never two at a time")
	same := &corev1.Secret{}
	f.Expect(f.get(blue, same)).To(Succeed())
	f.Expect(same.Data).To(Equal(secret.Data))
}

// What has our name, but isn't ours, is neither changed nor deleted.
func TestForeignObjects_areLeftAlone(t *testing.T) {
	t.Parallel()
	for _, foreign := range []client.Object{
		&appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}},
			},
		}},
		&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}},
		&networkingv1.NetworkPolicy{},
		&corev1.Secret{Data: map[string][]byte{"a": []byte("b")}},
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			f := start(t)
			foreign.SetNamespace(f.namespace)
			foreign.SetName(blue)
			f.Expect(f.client.Create(t.Context(), foreign)).To(Succeed())
			_, err := f.runtime.Ensure(t.Context(), blue)
			f.Expect(err).To(MatchError(ContainSubstring("isn't this manager's")))
			f.Expect(f.runtime.Delete(t.Context(), blue)).NotTo(Succeed())
			found := foreign.DeepCopyObject().(client.Object)
			f.Expect(f.get(blue, found)).To(Succeed())
			f.Expect(found.GetResourceVersion()).To(Equal(foreign.GetResourceVersion()))
		})
	}
}

func TestCentral_isDeletedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	f := start(t)
	const red = "ovn-6f1c2a34-0000-4000-8000-000000000bed"
	f.ensure(blue)
	f.ensure(red)
	f.settled(blue)
	err := f.runtime.Delete(t.Context(), blue)
	f.Expect(err).To(And(MatchError(central.ErrOnItsWay), MatchError(ContainSubstring("Deployment"))))
	f.Expect(f.get(blue, &networkingv1.NetworkPolicy{})).To(Succeed(), "its Pods may still run")
	d := &appsv1.Deployment{}
	f.Expect(f.get(blue, d)).To(Succeed())
	f.Expect(d.Finalizers).To(ConsistOf("foregroundDeletion"))
	f.Expect(f.runtime.Delete(t.Context(), blue)).To(MatchError(central.ErrOnItsWay))

	f.quiet()
	d.Finalizers = nil // the garbage collector has seen the Pods go
	f.Expect(f.client.Update(t.Context(), d)).To(Succeed())
	f.hears(blue)
	f.Eventually(func() error { return f.runtime.Delete(t.Context(), blue) }).Should(Succeed())
	for _, object := range kinds() {
		f.Expect(apierrors.IsNotFound(f.get(blue, object))).To(BeTrue(), "%T", object)
		f.Expect(f.get(red, object)).To(Succeed(), "the other group's")
	}
	f.Expect(f.runtime.Delete(t.Context(), blue)).To(Succeed())
	f.Expect(f.runtime.Delete(t.Context(), "ovn-never")).To(Succeed())
}

// A Pod of a tenant's that calls itself the manager is nobody.
func TestCentral_letsInTheManagerOfItsNamespace(t *testing.T) {
	t.Parallel()
	f := start(t)
	_, err := f.runtime.Ensure(t.Context(), blue)
	f.Expect(err).To(MatchError(central.ErrOnItsWay))
	p := &networkingv1.NetworkPolicy{}
	f.Expect(f.get(blue, p)).To(Succeed())
	for _, rule := range p.Spec.Ingress {
		for _, from := range rule.From {
			f.Expect(from.NamespaceSelector).To(HaveValue(HaveField("MatchLabels", HaveKeyWithValue("kubernetes.io/metadata.name", "managers"))))
			f.Expect(from.PodSelector).To(HaveValue(HaveField("MatchLabels", HaveKeyWithValue("app.kubernetes.io/name", "bedplate-hydrazine-manager"))))
		}
	}
}

// Unknown is not absent.
func TestCentral_thatCantBeLookedForIsntDeleted(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, plural := range []string{"deployments", "services", "networkpolicies", "secrets"} {
		f.writes.refuse(plural)
		f.Expect(f.runtime.Delete(t.Context(), "ovn-"+plural)).To(MatchError(ContainSubstring("the API server is away")), plural)
		_, err := f.runtime.Ensure(t.Context(), "ovn-"+plural)
		f.Expect(err).To(MatchError(ContainSubstring("the API server is away")), plural)
		f.writes.refuse("")
	}
	f.Expect(f.runtime.Delete(t.Context(), "ovn-never")).To(Succeed())
}

// With the rights of config/hydrazine, which end at the centrals' namespace: the keys of all others are in the manager's own.
func TestManager_mayDoWhatItHasTo(t *testing.T) {
	t.Parallel()
	const manager, centrals = "bedplate-hydrazine-system", "bedplate-hydrazine-centrals"
	testenv.Kubectl(t, "apply", "-f", "../../../../config/hydrazine/manager/namespace.yaml")
	testenv.Kubectl(t, "apply", "-k", "../../../../config/hydrazine/rbac")
	f := start(t, func(c *pods.Config) { c.Namespace, c.Manager = centrals, manager })
	access, err := clientcmd.BuildConfigFromFlags("", testenv.KubeconfigOf(t, "system:serviceaccount:"+manager+":bedplate-hydrazine-manager"))
	f.Expect(err).NotTo(HaveOccurred())
	access.QPS = -1
	f.access = access
	f.run()
	f.ensure(blue)
	f.settled(blue)
	f.config.Image = "central:2"
	f.run()
	f.settled(blue)
	secret := &corev1.Secret{}
	f.Expect(f.get(blue, secret)).To(Succeed())
	delete(secret.Data, "dpus.crt")
	f.Expect(f.client.Update(t.Context(), secret)).To(Succeed())
	f.Eventually(func(g Gomega) {
		f.ensure(blue)
		g.Expect(f.get(blue, secret)).To(Succeed())
		g.Expect(secret.Data).To(HaveKey("dpus.crt"))
	}).Should(Succeed())
	f.Expect(f.runtime.Delete(t.Context(), blue)).To(MatchError(central.ErrOnItsWay))
	d := &appsv1.Deployment{}
	f.Expect(f.get(blue, d)).To(Succeed())
	d.Finalizers = nil
	f.Expect(f.client.Update(t.Context(), d)).To(Succeed())
	f.Eventually(func() error { return f.runtime.Delete(t.Context(), blue) }).Should(Succeed())

	own, err := client.New(access, client.Options{Scheme: testenv.Scheme(t)})
	f.Expect(err).NotTo(HaveOccurred())
	for _, object := range kinds() {
		for _, namespace := range []string{manager, "default"} {
			err := own.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: blue}, object)
			f.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%T in %s: %v", object, namespace, err)
		}
	}
}

// The Pod is one that a namespace with Pod Security "restricted" takes.
func TestPod_isRestricted(t *testing.T) {
	t.Parallel()
	f := start(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	f.Expect(f.client.Patch(t.Context(), namespace, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)))).To(Succeed())
	f.ensure(blue)
	p := f.pod(blue, "10.244.0.7")
	f.Expect(p.Spec.Containers).To(HaveLen(4))
	for _, v := range p.Spec.Volumes {
		f.Expect(v.EmptyDir != nil || v.Secret != nil).To(BeTrue(), v.Name)
		if v.Secret != nil {
			for _, item := range v.Secret.Items {
				f.Expect(item.Key).NotTo(ContainSubstring("ca.key"), "no container can sign")
			}
		}
	}
	f.Expect(p.Spec.ServiceAccountName).To(Or(BeEmpty(), Equal("default")))
	f.Expect(*p.Spec.AutomountServiceAccountToken).To(BeFalse())
}

func TestConfig_isChecked(t *testing.T) {
	t.Parallel()
	for says, c := range map[string]pods.Config{
		"image":         {Namespace: "a", Manager: "b", Service: corev1.ServiceTypeLoadBalancer},
		"a namespace":   {Image: "a", Manager: "b", Service: corev1.ServiceTypeLoadBalancer},
		"the manager's": {Image: "a", Namespace: "a", Service: corev1.ServiceTypeLoadBalancer},
		"type":          {Image: "a", Namespace: "a", Manager: "b", Service: corev1.ServiceTypeClusterIP},
		"address":       {Image: "a", Namespace: "a", Manager: "b", Service: corev1.ServiceTypeNodePort},
	} {
		NewWithT(t).Expect(c.Validate()).To(MatchError(ContainSubstring(says)))
	}
}
