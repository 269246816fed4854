package dpf_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// systemNamespace exists.
func systemNamespace(t *testing.T, g *WithT) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.Namespace}}
	g.Expect(client.IgnoreAlreadyExists(testenv.Client(t).Create(t.Context(), namespace))).To(Succeed())
}

// userKinds are an object of each kind that users write, with a change of its spec.
func userKinds(namespace string) map[client.Object]string {
	name := metav1.ObjectMeta{Namespace: namespace, Name: "a"}
	service, ifc := &svcv1.DPUService{ObjectMeta: name}, &svcv1.DPUServiceInterface{ObjectMeta: name}
	chain, pool := &svcv1.DPUServiceChain{ObjectMeta: name}, &svcv1.DPUServiceIPAM{ObjectMeta: name}
	service.Spec.HelmChart.Source = svcv1.ChartSource{RepoURL: "oci://example.com/charts", Chart: "c", Version: "1"}
	ifc.Spec.Template.Spec.Template.Spec = svcv1.ServiceInterfaceSpec{
		InterfaceType: "physical", Physical: &svcv1.Physical{InterfaceName: "p0"}}
	chain.Spec.Template.Spec.Template.Spec.Switches = []svcv1.Switch{{Ports: []svcv1.Port{{
		ServiceInterface: svcv1.ServiceIfc{MatchLabels: map[string]string{"interface": "uplink"}}}}}}
	pool.Spec.IPV4Network = &svcv1.IPV4Network{Network: "10.0.0.0/16", PrefixSize: 24, GatewayIndex: ptr.To[int32](1)}
	other := `{"spec":{"clusterSelector":{"matchLabels":{"a":"b"}}}}`
	return map[client.Object]string{service: `{"spec":{"helmChart":{"source":{"version":"2"}}}}`, ifc: other, chain: other, pool: other}
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// OLM gives each user of OpenShift these kinds in projects of their own.
func TestPolicy_letsServicesIntoAllowedNamespacesOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	testenv.Kubectl(t, "apply", "-f", "admission/services_policy.yaml", "--warnings-as-errors")
	systemNamespace(t, g)
	c, users, ctx := testenv.Client(t), testenv.Namespace(t), t.Context()
	refused := And(MatchError(apierrors.IsForbidden, "forbidden"),
		MatchError(ContainSubstring("kubectl label namespace "+users+" dpf.nvidia.com/dpuservices=allowed")))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: users}}
	label := func(value string) {
		g.Expect(c.Patch(ctx, namespace, merge(`{"metadata":{"labels":{"dpf.nvidia.com/dpuservices":`+value+`}}}`))).To(Succeed())
	}
	for o := range userKinds(users) {
		g.Eventually(func() error { return c.Create(ctx, o, client.DryRunAll) }, time.Minute).Should(refused, "%T", o)
	}
	for o := range userKinds(operatorv1.Namespace) { // which are refused until the configurations are read that their policy asks for
		g.Eventually(func() error { return c.Create(ctx, o, client.DryRunAll) }, time.Minute).Should(Succeed(), "%T", o)
	}

	label(`"allowed"`)
	all := userKinds(users)
	for o, change := range all {
		o.SetFinalizers([]string{"example.com/a"})
		g.Eventually(func() error { return c.Create(ctx, o) }, time.Minute).Should(Succeed(), "%T", o)
		g.Expect(c.Patch(ctx, o, merge(change), client.DryRunAll)).To(Succeed(), "%T", o)
	}

	label(`null`) // what is there can be deleted, and isn't changed, also not while it is being deleted
	for o, change := range all {
		g.Eventually(func() error { return c.Patch(ctx, o, merge(change), client.DryRunAll) }, time.Minute).Should(refused, "%T", o)
		g.Expect(c.Patch(ctx, o, merge(`{"metadata":{"annotations":{"svc.dpu.nvidia.com/abandon":"true"}}}`))).To(Succeed(), "%T", o)
		g.Expect(c.Delete(ctx, o)).To(Succeed(), "%T", o)
		g.Expect(c.Patch(ctx, o, merge(change))).To(refused, "%T", o)
		g.Expect(c.Patch(ctx, o, merge(`{"metadata":{"finalizers":null}}`))).To(Succeed(), "%T", o)
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(o), o)).To(MatchError(apierrors.IsNotFound, "not found"), "%T", o)
	}
}

// Nothing comes that its controllers wouldn't outlive, and nothing that is there is in the way of its own end.
func TestPolicy_letsNoServicesInWhileTheConfigurationIsBeingDeleted(t *testing.T) {
	g := NewWithT(t)
	testenv.Kubectl(t, "apply", "-f", "admission/services_policy.yaml", "--warnings-as-errors")
	systemNamespace(t, g)
	c, ctx := testenv.Client(t), t.Context()
	create := func() error { // all kinds
		var problems []error
		for o := range userKinds(operatorv1.Namespace) {
			problems = append(problems, c.Create(ctx, o, client.DryRunAll))
		}
		return errors.Join(problems...)
	}
	g.Eventually(create, time.Minute).Should(Succeed(), "there is no configuration")
	config := network()
	config.UID, config.Finalizers = "", []string{operatorv1.Finalizer}
	g.Expect(c.Create(ctx, config)).To(Succeed())
	g.Consistently(create, 2*time.Second).Should(Succeed())
	before := userKinds(operatorv1.Namespace)
	for o := range before {
		o.SetFinalizers([]string{"example.com/a"})
		g.Expect(c.Create(ctx, o)).To(Succeed())
	}
	g.Expect(c.Delete(ctx, config)).To(Succeed())
	for o := range userKinds(operatorv1.Namespace) {
		o.SetName("b")
		g.Eventually(func() error { return c.Create(ctx, o, client.DryRunAll) }, time.Minute).Should(And(
			MatchError(apierrors.IsForbidden, "forbidden"), MatchError(ContainSubstring("the DPFOperatorConfig is being deleted"))), "%T", o)
	}
	for o := range before {
		g.Expect(c.Delete(ctx, o)).To(Succeed())
		g.Expect(c.Patch(ctx, o, merge(`{"metadata":{"finalizers":null}}`))).To(Succeed())
	}
	g.Expect(c.Patch(ctx, config, merge(`{"metadata":{"finalizers":null}}`))).To(Succeed())
	g.Eventually(create, time.Minute).Should(Succeed())
}

// Kubernetes would delete the components at once, such as the controller that DPUServices wait for, while the network lives by them.
func TestPolicy_theConfigurationGoesBeforeItsComponents(t *testing.T) {
	g := NewWithT(t)
	testenv.Kubectl(t, "apply", "-f", "admission/singleton_policy.yaml", "--warnings-as-errors")
	systemNamespace(t, g)
	c, config := testenv.Client(t), network()
	config.UID = ""
	g.Expect(c.Create(t.Context(), config)).To(Succeed())
	g.Eventually(func() error {
		return c.Delete(t.Context(), config, client.DryRunAll, client.PropagationPolicy(metav1.DeletePropagationForeground))
	}, time.Minute).Should(MatchError(ContainSubstring("delete it with --cascade=background")))
	g.Expect(c.Delete(t.Context(), config, client.DryRunAll, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	g.Expect(c.Delete(t.Context(), config)).To(Succeed())
}

// An administrator of a namespace can't label it.
func TestPolicy_isOutOfReachOfWhoHasANamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	users := testenv.Namespace(t)
	var roles []rbacv1.RoleRef // which the role admin has the rules of; what adds them doesn't run here
	for _, name := range []string{"view", "edit", "admin"} {
		roles = append(roles, rbacv1.RoleRef{Kind: "ClusterRole", Name: "system:aggregate-to-" + name})
	}
	config := bound(t, g, "project-admin", users, roles...)
	c, err := client.New(config, client.Options{Scheme: testenv.Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	allowed := merge(`{"metadata":{"labels":{"dpf.nvidia.com/dpuservices":"allowed"}}}`)
	g.Eventually(func() error { // it has the role
		return c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: users, Name: "a"}}, client.DryRunAll)
	}, time.Minute).Should(Succeed())
	g.Expect(c.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: users}}, allowed)).
		To(MatchError(apierrors.IsForbidden, "forbidden"))
}

// bound is a user with roles in a namespace.
func bound(t *testing.T, g *WithT, user, namespace string, roles ...rbacv1.RoleRef) *rest.Config {
	t.Helper()
	for _, role := range roles {
		role.APIGroup = rbacv1.GroupName
		g.Expect(testenv.Client(t).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: user + "-"}, RoleRef: role,
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})).To(Succeed())
	}
	config, err := clientcmd.BuildConfigFromFlags("", testenv.KubeconfigOf(t, user, "system:authenticated"))
	g.Expect(err).NotTo(HaveOccurred())
	return config
}
