package pods_test

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/central/pods"
)

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

// A full cluster evicts other Pods first: without a central a group's DPUs get no changes.
func TestCentral_isCriticalForTheCluster(t *testing.T) {
	t.Parallel()
	f := start(t)
	_, _ = f.runtime.Ensure(t.Context(), blue)
	deployment := &appsv1.Deployment{}
	f.Expect(f.get(blue, deployment)).To(Succeed())
	f.Expect(deployment.Spec.Template.Spec.PriorityClassName).To(Equal("system-cluster-critical"))
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
	f.Expect(f.runtime.Ensure(t.Context(), blue)).To(Equal(c), "so that no client reconnects")

	f.quiet()
	f.say(p, "10.244.0.7", corev1.ConditionFalse)
	f.hears(blue)
	f.Eventually(func() error {
		_, err := f.runtime.Ensure(t.Context(), blue)
		return err
	}).Should(MatchError(ContainSubstring("its Pod " + p.Name + " isn't ready")))
}

// Two Pods at a time are an old one that ends and a new one. What was written to one must not open the other.
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
	}).Should(MatchError("its load balancer has the hostname lb.example.com, and DPUs need an IP address: use a load balancer with an IP address, or --centrals-service=NodePort"))
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

// kubectl rollout restart, or a label of another client.
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

func TestConfig_isChecked(t *testing.T) {
	t.Parallel()
	for says, c := range map[string]pods.Config{
		`--centrals-image="": must be`:               {Namespace: "a", Manager: "b", Service: corev1.ServiceTypeLoadBalancer},
		`--centrals-namespace="": must be`:           {Image: "a", Manager: "b", Service: corev1.ServiceTypeLoadBalancer},
		`--manager-namespace="": must be`:            {Image: "a", Namespace: "a", Service: corev1.ServiceTypeLoadBalancer},
		`--centrals-service=ClusterIP: must be`:      {Image: "a", Namespace: "a", Manager: "b", Service: corev1.ServiceTypeClusterIP},
		`--centrals-address="": must be the address`: {Image: "a", Namespace: "a", Manager: "b", Service: corev1.ServiceTypeNodePort},
	} {
		NewWithT(t).Expect(c.Validate()).To(MatchError(ContainSubstring(says)))
	}
}
