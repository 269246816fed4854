package machineapi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/machineapi"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const poll = time.Hour // nothing in these tests waits for it

var errDown = errors.New("the service doesn't answer")

// fixture is a Machine in a real API server, and a cloud.
type fixture struct {
	*WithT
	t      *testing.T
	client client.WithWatch
	// writer is what the controller uses.
	writer client.Client
	kube   kubernetes.Interface
	cloud  *cloud
	events *events.FakeRecorder
	name   client.ObjectKey
}

func newFixture(t *testing.T, change ...func(*machinev1.Machine)) *fixture {
	t.Helper()
	testenv.MachineAPI(t, "TechPreviewNoUpgrade") // it has all that Default has, and authoritativeAPI
	f := &fixture{WithT: NewWithT(t), t: t, client: testenv.Client(t), cloud: newCloud(), events: events.NewFakeRecorder(1000)}
	f.writer = f.client
	var err error
	f.kube, err = kubernetes.NewForConfig(testenv.Config(t))
	f.Expect(err).NotTo(HaveOccurred())
	machine := &machinev1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: "worker-0", Namespace: testenv.Namespace(t), Labels: map[string]string{machinev1.MachineClusterIDLabel: "demo"},
		},
		Spec: machinev1.MachineSpec{ProviderSpec: machinev1.ProviderSpec{Value: &runtime.RawExtension{Raw: []byte(`{"kind":"Toy"}`)}}},
	}
	for _, c := range change {
		c(machine)
	}
	f.Expect(f.client.Create(t.Context(), machine)).To(Succeed())
	f.name = client.ObjectKeyFromObject(machine)
	return f
}

// newRunning is a fixture whose Machine has got its Node.
func newRunning(t *testing.T, change ...func(*machinev1.Machine)) *fixture {
	t.Helper()
	f := newFixture(t, change...)
	f.reconcile()
	f.reconcile()
	f.join()
	f.reconcile()
	f.Expect(f.machine().Status.Phase).To(HaveValue(Equal(machinev1.PhaseRunning)))
	return f
}

// reconciler is a new one each time: it remembers nothing.
func (f *fixture) reconciler() *machineapi.Reconciler {
	return &machineapi.Reconciler{
		Client: f.writer, Live: f.client, Kube: f.kube, Recorder: f.events, Actuator: f.cloud, Poll: poll,
		Ours: func(m *machinev1.Machine) bool { return string(m.Spec.ProviderSpec.Value.Raw) == `{"kind":"Toy"}` },
	}
}

func (f *fixture) try(ctx context.Context) (ctrl.Result, error) {
	return f.reconciler().Reconcile(ctx, ctrl.Request{NamespacedName: f.name})
}

func (f *fixture) reconcile() ctrl.Result {
	f.t.Helper()
	result, err := f.try(f.t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	return result
}

func (f *fixture) machine() *machinev1.Machine {
	f.t.Helper()
	machine := &machinev1.Machine{}
	f.Expect(f.client.Get(f.t.Context(), f.name, machine)).To(Succeed())
	return machine
}

func (f *fixture) isGone() bool {
	return apierrors.IsNotFound(f.client.Get(f.t.Context(), f.name, &machinev1.Machine{}))
}

func (f *fixture) change(change func(*machinev1.Machine)) {
	f.t.Helper()
	f.untilWritten(change, func(m *machinev1.Machine) error { return f.client.Update(f.t.Context(), m) })
}

func (f *fixture) changeStatus(change func(*machinev1.Machine)) {
	f.t.Helper()
	f.untilWritten(change, func(m *machinev1.Machine) error { return f.client.Status().Update(f.t.Context(), m) })
}

// untilWritten retries on conflict, as every other writer of a Machine does.
func (f *fixture) untilWritten(change func(*machinev1.Machine), write func(*machinev1.Machine) error) {
	f.t.Helper()
	f.Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		machine := f.machine()
		change(machine)
		return write(machine)
	})).To(Succeed())
}

func (f *fixture) delete() {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), f.machine())).To(Succeed())
}

// nodeName is the Machine's, and no other test's.
func (f *fixture) nodeName() string { return f.name.Namespace + "-" + f.name.Name }

func (f *fixture) node() *corev1.Node {
	f.t.Helper()
	node := &corev1.Node{}
	f.Expect(f.client.Get(f.t.Context(), client.ObjectKey{Name: f.nodeName()}, node)).To(Succeed())
	return node
}

func (f *fixture) nodeIsGone() bool {
	return apierrors.IsNotFound(f.client.Get(f.t.Context(), client.ObjectKey{Name: f.nodeName()}, &corev1.Node{}))
}

// join registers a Node, as a kubelet does, and ties the Machine to it, as OpenShift's nodelink controller does.
func (f *fixture) join(change ...func(*corev1.Node)) {
	f.t.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: f.nodeName()},
		Spec:       corev1.NodeSpec{ProviderID: ptr.Deref(f.machine().Spec.ProviderID, "")},
	}
	for _, c := range change {
		c(node)
	}
	f.Expect(f.client.Create(f.t.Context(), node)).To(Succeed())
	f.t.Cleanup(func() { _ = client.IgnoreNotFound(f.client.Delete(context.Background(), node)) })
	f.changeStatus(func(m *machinev1.Machine) { m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: node.Name} })
}

func (f *fixture) expectPhase(phase string) {
	f.t.Helper()
	f.Expect(f.machine().Status.Phase).To(HaveValue(Equal(phase)))
}

func (f *fixture) expectCondition(kind machinev1.ConditionType, status corev1.ConditionStatus, reason, message string) {
	f.t.Helper()
	f.Expect(f.machine().Status.Conditions).To(ContainElement(And(
		HaveField("Type", kind), HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message)),
	)))
}
