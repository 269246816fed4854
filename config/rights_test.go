package config_test

import (
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/testenv"
)

// A forged ledger would let a tenant delete what is another's.
func TestLedgers_areReadByTenantsAndWrittenByNone(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		var role rbacv1.ClusterRole
		all := testenv.Kustomize(t, p.folder("rbac"), map[string]any{"ClusterRole " + p.prefix() + "-ledgers-viewer": &role})
		g.Expect(role.Labels).To(HaveKeyWithValue("rbac.authorization.k8s.io/aggregate-to-view", "true"))
		for _, object := range all { // edit and admin have what view has, and nothing is added
			g.Expect(object.Labels).NotTo(Or(HaveKey("rbac.authorization.k8s.io/aggregate-to-edit"), HaveKey("rbac.authorization.k8s.io/aggregate-to-admin")))
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
			g.Expect(may(verb)).To(HavePrefix("yes"), verb)
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
