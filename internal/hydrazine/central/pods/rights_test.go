package pods_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
	"github.com/bedplate/bedplate/internal/hydrazine/central/pods"
	"github.com/bedplate/bedplate/internal/testenv"
)

// A tenant's Pod that claims to be the manager has no rights.
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
