package config_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/testenv"
)

// A forged ledger would let a tenant delete what is another's.
func TestLedgers_areReadByTenantsAndWrittenByNone(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		var role rbacv1.ClusterRole
		all := testenv.Kustomize(t, p.folder("rbac"), map[string]any{"ClusterRole " + p.prefix() + "-ledgers-viewer": &role})
		g.Expect(role.Labels).To(HaveKeyWithValue("rbac.authorization.k8s.io/aggregate-to-view", "true"))
		for _, object := range all { // edit and admin have what view has, and of ledgers nothing is added
			if object.Labels["rbac.authorization.k8s.io/aggregate-to-edit"] == "" && object.Labels["rbac.authorization.k8s.io/aggregate-to-admin"] == "" {
				continue
			}
			var more rbacv1.ClusterRole
			testenv.Kustomize(t, p.folder("rbac"), map[string]any{"ClusterRole " + object.Name: &more})
			for _, rule := range more.Rules {
				g.Expect(rule.Resources).NotTo(ContainElement(Or(Equal("ledgers"), Equal("*"))), object.Name)
			}
		}
		c, namespace := testenv.Client(t), testenv.Namespace(t)
		role.Name, role.Labels, role.ResourceVersion = "ledgers-viewer-"+namespace, nil, ""
		g.Expect(c.Create(t.Context(), &role)).To(Succeed())
		g.Expect(c.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "tenant-" + namespace}},
		})).To(Succeed())
		tenant := testenv.KubeconfigOf(t, "tenant-"+namespace)
		may := func(verb string) string {
			out, _ := testenv.RunKubectl(t, tenant, "auth", "can-i", verb, "ledgers."+p.ledgers, "-n", namespace)
			return out
		}
		for _, verb := range []string{"get", "list", "watch"} {
			g.Eventually(may, time.Minute).WithArguments(verb).Should(HavePrefix("yes")) // the API server learns a little later of a role
		}
		for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
			g.Expect(may(verb)).To(HavePrefix("no"), verb)
		}
	})
}

// The manager patches Secrets for a finalizer only, and RBAC can't say so.
func TestPolicy_letsTheManagerChangeNothingInASecretButItsFinalizer(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		for _, account := range []string{
			p.prefix() + "-system:" + p.prefix() + "-manager",
			"acme:acme-" + p.prefix() + "-manager-2", // Kustomize's namePrefix and nameSuffix change the account's name, and not the policy's text
		} {
			testenv.ExpectOnlyFinalizer(t, p.folder("rbac/secrets_policy.yaml"), "system:serviceaccount:"+account, p.finalizer)
		}
	})
}

// Krake's manager writes the kubeconfigs of the Clusters that it makes, and no other Secret.
func TestPolicy_letsKrakesManagerWriteKubeconfigsOfClustersOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	testenv.Kubectl(t, "apply", "-f", "krake/rbac/secrets_policy.yaml")
	config, err := clientcmd.BuildConfigFromFlags("",
		testenv.KubeconfigOf(t, "system:serviceaccount:bedplate-krake-system:bedplate-krake-manager", "system:masters"))
	g.Expect(err).NotTo(HaveOccurred())
	manager, err := client.New(config, client.Options{Scheme: testenv.Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	namespace := testenv.Namespace(t)
	secret := func(name string, change func(*corev1.Secret)) *corev1.Secret {
		s := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "krake.bedplate.dev/v1alpha1", Kind: "Cluster", Name: "demo", UID: "1",
			}}},
			Type: "cluster.x-k8s.io/secret", Data: map[string][]byte{"value": []byte("one")},
		}
		change(s)
		return s
	}
	g.Eventually(func() error { // a policy is enforced a little after it was written
		return manager.Create(t.Context(), secret("early", func(*corev1.Secret) {}), client.DryRunAll)
	}, time.Minute).Should(MatchError(apierrors.IsForbidden, "forbidden"))
	for what, change := range map[string]func(*corev1.Secret){
		"no owner":      func(s *corev1.Secret) { s.OwnerReferences = nil },
		"another owner": func(s *corev1.Secret) { s.OwnerReferences[0].APIVersion = "cluster.x-k8s.io/v1beta2" },
		"another type":  func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
	} {
		g.Expect(manager.Create(t.Context(), secret("demo-kubeconfig", change))).To(MatchError(apierrors.IsForbidden, "forbidden"), what)
	}
	kubeconfig := secret("demo-kubeconfig", func(*corev1.Secret) {})
	g.Expect(manager.Create(t.Context(), kubeconfig)).To(Succeed())
	kubeconfig.Data["value"] = []byte("two")
	g.Expect(manager.Update(t.Context(), kubeconfig)).To(Succeed())
	tenants := secret("demo-kubeconfig", func(s *corev1.Secret) { s.OwnerReferences, s.Namespace = nil, testenv.Namespace(t) })
	g.Expect(testenv.Client(t).Create(t.Context(), tenants)).To(Succeed())
	taken := secret("demo-kubeconfig", func(s *corev1.Secret) { s.Namespace, s.ResourceVersion = tenants.Namespace, tenants.ResourceVersion })
	g.Expect(manager.Update(t.Context(), taken)).To(MatchError(apierrors.IsForbidden, "forbidden"), "it was the user's own")
}
