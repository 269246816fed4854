package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
	"github.com/bedplate/bedplate/internal/dpf/operator"
	"github.com/bedplate/bedplate/internal/dpf/preflight"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const namespace = operatorv1.Namespace

var errKilled = errors.New("killed")

// fixture is a host cluster with its controllers, as far as the operator sees them. There is one: its tests aren't parallel.
type fixture struct {
	*WithT
	t *testing.T
	client.WithWatch
	*operator.Reconciler

	missing  preflight.Report
	clusters []dpucluster.Cluster
	refused  []dpucluster.Cluster
	network  *network
	events   *events.FakeRecorder
	// writes are what the operator has written. At killAt it is killed, before the write or after it.
	writes []string
	killAt int
	after  bool
	// reads are how often it has asked the API server past its cache.
	reads int
	// stranded are DPUServices whose controller goes before them.
	stranded int
}

// network is moved in three steps, and back in three.
type network struct {
	*fixture
	moved int
	begun string // what was there when it began
	err   error
	awake time.Time
}

func (n *network) Left(context.Context) ([]string, error) {
	if n.moved == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("%d steps of the network", n.moved)}, nil
}

func (n *network) Reconcile(_ context.Context, config *operatorv1.DPFOperatorConfig, awake time.Time) (r hostnetwork.Result, err error) {
	if n.awake = awake; n.err != nil {
		return r, n.err
	}
	const steps = 3
	wanted := config.Spec.HostNetworkConfiguration != nil && config.DeletionTimestamp.IsZero()
	write := func(by int) error {
		return n.write(fmt.Sprintf("network %+d", by), func() error { n.moved += by; return nil })
	}
	r.Condition = metav1.Condition{Type: operatorv1.RestoredCondition, Status: metav1.ConditionFalse, Reason: operatorv1.ReasonPending, Message: "it is on its way"}
	r.RequeueAfter = time.Millisecond
	switch {
	case wanted && n.moved < steps:
		if n.moved == 0 {
			n.begun = strings.Join(n.objects(), ",")
		}
		err = write(1)
	case !wanted && n.moved > 0:
		err = write(-1)
	}
	if wanted {
		r.Condition.Type = operatorv1.HostNetworkConfiguredCondition
		r.Nodes = []operatorv1.NodeStatus{{Name: "ocp-worker-1", Phase: operatorv1.NodeReady}}
	}
	if r.Done = err == nil && (wanted && n.moved == steps || !wanted && n.moved == 0); r.Done {
		r.Condition.Status, r.Condition.Reason, r.RequeueAfter = metav1.ConditionTrue, operatorv1.ReasonSuccess, 0
	}
	return r, err
}

// certManager is there for all tests.
var certManager sync.Once

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{WithT: NewWithT(t), t: t, WithWatch: testenv.Client(t), events: events.NewFakeRecorder(100)}
	f.SetDefaultEventuallyTimeout(time.Minute)
	f.network = &network{fixture: f}
	certManager.Do(func() { testenv.Kubectl(t, "apply", "-f", "../../../config/testdata/cert-manager.yaml") })
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-config-v1"},
			Data: map[string]string{"install-config": "networking: {machineNetwork: [{cidr: 192.0.2.0/24}]}"}},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume-one"}, Spec: corev1.PersistentVolumeSpec{
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/bfb"}},
		}},
		secret("ngc"), secret("other"),
	} {
		f.Expect(client.IgnoreAlreadyExists(f.Create(t.Context(), o))).To(Succeed())
	}
	f.addCluster("a", nil)
	f.start()
	t.Cleanup(func() { f.killAt, f.missing = 0, nil; f.delete() })
	return f
}

func secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")}}
}

func (f *fixture) addCluster(name string, err error) {
	c := dpucluster.Cluster{Name: types.NamespacedName{Namespace: "dpus", Name: name}, Err: err}
	if err == nil {
		c.Client = fake.NewClientBuilder().Build()
	}
	f.clusters = append(f.clusters, c)
}

// start the operator, as after a crash: it remembers nothing.
func (f *fixture) start() {
	writer := f.writer()
	f.Reconciler = &operator.Reconciler{
		Client: writer, Live: f.reader(), Network: f.network, Events: f.events, Clock: clock.RealClock{}, Poll: time.Hour,
		Release:  components.Release{Registry: "ghcr.io/bedplate", Charts: components.DefaultCharts, Version: "v1.2.3"},
		Clusters: func(context.Context) (all, refused []dpucluster.Cluster, _ error) { return f.clusters, f.refused, nil },
		Check: func(context.Context, *operatorv1.DPFOperatorConfig, []preflight.DPUCluster) preflight.Report {
			return f.missing
		},
	}
}

func (f *fixture) write(what string, write func() error) error {
	switch f.writes = append(f.writes, what); {
	case f.killAt == 0 || len(f.writes) < f.killAt:
		return write()
	case len(f.writes) == f.killAt && f.after:
		_ = write()
	}
	return errKilled
}

func named(verb string, o client.Object) string {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1")
	}
	return verb + " " + kind + " " + o.GetName()
}

func (f *fixture) writer() client.Client {
	return interceptor.NewClient(f.WithWatch, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return f.write(named("create", o), func() error { return c.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return f.write(named("patch", o), func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return f.write(named("status", o), func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return f.write("apply", func() error { return c.Apply(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if o.GetObjectKind().GroupVersionKind().Kind == "Deployment" {
				var services svcv1.DPUServiceList
				f.Expect(c.List(ctx, &services)).To(Succeed())
				f.stranded += len(services.Items)
			}
			return f.write(named("delete", o), func() error { return c.Delete(ctx, o, opts...) })
		},
	})
}

func (f *fixture) create() *operatorv1.DPFOperatorConfig {
	c := &operatorv1.DPFOperatorConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorv1.Name}}
	c.Spec.ImagePullSecrets, c.Spec.BFBPersistentVolume = []string{"ngc"}, "volume-one"
	c.Spec.HostNetworkConfiguration = &operatorv1.HostNetworkConfiguration{
		HostPF0: "ens2f0np0", HostPF0VF0: "enp23s0f0v0", CIDR: "10.0.96.0/20", Hosts: []operatorv1.Host{{
			HostClusterNodeName: "ocp-worker-1", DPUClusterNodeName: "dpu-worker-1",
			HostIP: "10.0.96.10/24", DPUIP: "10.0.96.20/24", Gateway: "10.0.96.254",
		}},
	}
	f.Expect(f.WithWatch.Create(context.Background(), c)).To(Succeed())
	return c
}

func (f *fixture) config() *operatorv1.DPFOperatorConfig {
	c := &operatorv1.DPFOperatorConfig{}
	f.Expect(client.IgnoreNotFound(f.WithWatch.Get(context.Background(), theOne, c))).To(Succeed())
	return c
}

var theOne = types.NamespacedName{Namespace: namespace, Name: operatorv1.Name}

// once is one look of the operator, and one of the other controllers.
func (f *fixture) once() error {
	_, err := f.Reconcile(context.Background(), ctrl.Request{NamespacedName: theOne})
	f.others()
	return err
}

// others are the controllers of workloads, of DPUServices, of volumes and of pull secrets, which have done their work.
func (f *fixture) others() {
	ctx := context.Background()
	var deployments appsv1.DeploymentList
	f.Expect(f.List(ctx, &deployments, client.InNamespace(namespace))).To(Succeed())
	for _, d := range deployments.Items {
		ready := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: *d.Spec.Replicas, UpdatedReplicas: *d.Spec.Replicas,
			ReadyReplicas: *d.Spec.Replicas, AvailableReplicas: *d.Spec.Replicas}
		if equality.Semantic.DeepEqual(d.Status, ready) {
			continue
		}
		d.Status = ready
		f.Expect(f.WithWatch.Status().Update(ctx, &d)).To(Succeed())
	}
	var services svcv1.DPUServiceList
	f.Expect(f.List(ctx, &services, client.InNamespace(namespace))).To(Succeed())
	for _, s := range services.Items {
		if s.DeletionTimestamp != nil {
			s.Finalizers = nil
			f.Expect(f.WithWatch.Update(ctx, &s)).To(Succeed())
			continue
		}
		if len(s.Finalizers) == 0 {
			s.Finalizers = []string{svcv1.DPUServiceFinalizer}
			f.Expect(f.WithWatch.Update(ctx, &s)).To(Succeed())
		}
		if meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: svcv1.ReadyCondition, Status: metav1.ConditionTrue,
			Reason: svcv1.ReasonSuccess, ObservedGeneration: s.Generation}) {
			f.Expect(f.WithWatch.Status().Update(ctx, &s)).To(Succeed())
		}
	}
	claim := &corev1.PersistentVolumeClaim{}
	if err := testenv.Client(f.t).Get(ctx, client.ObjectKey{Namespace: namespace, Name: components.BFBClaim}, claim); err == nil {
		if claim.DeletionTimestamp != nil {
			claim.Finalizers = nil
			f.Expect(client.IgnoreNotFound(f.WithWatch.Update(ctx, claim))).To(Succeed())
		} else if claim.Status.Phase != corev1.ClaimBound {
			claim.Status.Phase = corev1.ClaimBound
			f.Expect(f.WithWatch.Status().Update(ctx, claim)).To(Succeed())
			f.bind(ctx, claim)
		}
	}
	f.mirror(ctx)
	f.collect(ctx)
}

// bind the volume, as Kubernetes does where its administrator has said nothing of a claim.
func (f *fixture) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) {
	volume := f.volume()
	metav1.SetMetaDataAnnotation(&volume.ObjectMeta, "pv.kubernetes.io/bound-by-controller", "yes")
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	f.Expect(f.WithWatch.Update(ctx, volume)).To(Succeed())
}

func (f *fixture) volume() *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{}
	f.Expect(f.WithWatch.Get(context.Background(), client.ObjectKey{Name: "volume-one"}, volume)).To(Succeed())
	return volume
}

// mirror works as long as its controller does, and leaves its copies behind.
func (f *fixture) mirror(ctx context.Context) {
	controller := &appsv1.Deployment{}
	err := testenv.Client(f.t).Get(ctx, client.ObjectKey{Namespace: namespace, Name: "dpf-dpuservice-controller"}, controller)
	if err != nil {
		return
	}
	var secrets corev1.SecretList
	f.Expect(f.List(ctx, &secrets, client.InNamespace(namespace))).To(Succeed())
	for _, cluster := range f.clusters {
		if cluster.Client == nil {
			continue
		}
		f.Expect(cluster.Client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(namespace))).To(Succeed())
		f.Expect(dpuservice.NoteCopies(ctx, f.WithWatch, f.WithWatch, namespace, cluster.Name)).To(Succeed())
		for _, s := range secrets.Items {
			if _, has := s.Labels[dpuservice.PullSecretLabel]; has {
				s.ResourceVersion = ""
				s.Labels["svc.dpu.nvidia.com/mirrored"] = "true"
				f.Expect(cluster.Client.Create(ctx, &s)).To(Succeed())
			}
		}
	}
}

// settle until the operator writes nothing any more.
func (f *fixture) settle() {
	f.t.Helper()
	f.Eventually(func() int {
		before := len(f.writes)
		f.Expect(f.once()).To(Succeed())
		return len(f.writes) - before
	}, "2m", "1ms").Should(BeZero())
}

// delete the configuration, and have it removed.
func (f *fixture) delete() {
	f.t.Helper()
	f.Expect(client.IgnoreNotFound(f.WithWatch.Delete(context.Background(), &operatorv1.DPFOperatorConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorv1.Name}}))).To(Succeed())
	f.Eventually(func() string {
		f.Expect(f.once()).To(Succeed())
		return f.config().Name
	}, "2m", "1ms").Should(BeEmpty())
}

// objects of the operator.
func (f *fixture) objects() (names []string) {
	for _, list := range []client.ObjectList{
		&corev1.ConfigMapList{}, &corev1.ServiceAccountList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ServiceList{}, &appsv1.DeploymentList{},
		&appsv1.DaemonSetList{}, &svcv1.DPUServiceList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{},
	} {
		f.Expect(f.List(context.Background(), list)).To(Succeed())
		f.Expect(meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			if object.GetLabels()["applyset.kubernetes.io/part-of"] == components.ID || object.GetName() == components.ParentName {
				names = append(names, strings.TrimPrefix(fmt.Sprintf("%T ", o), "*v1")+object.GetName())
			}
			return nil
		})).To(Succeed())
	}
	slices.Sort(names)
	return names
}

func (f *fixture) labelled() (names []string) {
	var secrets corev1.SecretList
	f.Expect(f.List(context.Background(), &secrets, client.InNamespace(namespace), client.HasLabels{dpuservice.PullSecretLabel})).To(Succeed())
	for _, s := range secrets.Items {
		names = append(names, s.Name)
	}
	return names
}

func (f *fixture) condition(kind string) metav1.Condition {
	c := meta.FindStatusCondition(f.config().Status.Conditions, kind)
	if c == nil {
		return metav1.Condition{}
	}
	return *c
}

var request = ctrl.Request{NamespacedName: theOne}

// kill the operator at a write; then it starts again. It reports whether there was such a write.
func (f *fixture) kill(at int, after bool) (died bool) {
	f.writes, f.killAt, f.after = nil, at, after
	for range 30 { // more looks than installing and deleting take
		_ = f.once()
		if len(f.writes) >= at {
			died = true
			break
		}
	}
	f.writes, f.killAt = nil, 0
	f.start()
	return died
}
