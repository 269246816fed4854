package dpf_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

// The DPUService controller starts with its rights, and sees the Argo CD of its namespace alone.
func TestServices_knowOneArgoCD(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	systemNamespace(t, g)
	testenv.Kubectl(t, "apply", "-f", "rbac/components_roles.yaml")
	testenv.AddCRDs(t, testenv.Config(t), "../internal/dpf/sim/argo/crds.yaml")
	const user, role = "services", "dpf-dpuservice-manager"
	admin, elsewhere := testenv.Client(t), testenv.Namespace(t)
	g.Expect(admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}})).To(Succeed())
	config := bound(t, g, user, operatorv1.Namespace, rbacv1.RoleRef{Kind: "Role", Name: role})
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: testenv.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{ByObject: dpuservice.Cached(operatorv1.Namespace)},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	g.Expect(err).NotTo(HaveOccurred())
	own := dpucluster.Config{Scheme: mgr.GetScheme(), Egress: egress.Policy{Loopback: true}}
	clusters, err := dpucluster.Setup(mgr, own, controller.Options{NewQueue: queue.New[reconcile.Request]})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dpuservice.Setup(mgr, dpuservice.Config{
		Namespace: operatorv1.Namespace, SourceRepos: []string{"*"}, Clusters: clusters, Poll: time.Second,
	}, controller.Options{CacheSyncTimeout: time.Minute, NewQueue: queue.New[reconcile.Request]})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() { cancel(); g.Expect(<-ended).To(Succeed()) }()

	application := func(namespace string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"project": "a",
			"destination": map[string]any{"namespace": "a"}, "source": map[string]any{"repoURL": "https://example.com"}}}}
		o.SetGroupVersionKind(dpuservice.ApplicationKind)
		o.SetNamespace(namespace)
		o.SetName("knows-one")
		return o
	}
	theirs, ours := application(elsewhere), application(operatorv1.Namespace)
	g.Expect(admin.Create(t.Context(), theirs)).To(Succeed())
	g.Expect(admin.Create(t.Context(), ours)).To(Succeed())
	cached := func(o client.Object) error { // a cache that has no right to be filled is waited for without an end
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return mgr.GetCache().Get(ctx, client.ObjectKeyFromObject(o), o)
	}
	g.Eventually(cached, time.Minute).WithArguments(ours).Should(Succeed())
	g.Expect(cached(theirs)).NotTo(Succeed())
	mine, err := client.New(config, client.Options{Scheme: testenv.Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mine.Delete(t.Context(), application(elsewhere))).To(MatchError(apierrors.IsForbidden, "forbidden"))
	g.Expect(mine.Delete(t.Context(), application(operatorv1.Namespace))).To(Succeed())
}
