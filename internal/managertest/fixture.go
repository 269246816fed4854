package managertest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/optest"
	"github.com/bedplate/bedplate/internal/simulator"
)

const (
	timeout  = time.Minute
	interval = 20 * time.Millisecond
)

// Fixture is one namespace of an API server, and a simulated service: what the fixtures of systems have in common.
type Fixture struct {
	*WithT
	t         testing.TB
	Client    client.WithWatch
	Namespace string
	// Reconciles of the controllers.
	Reconciles *optest.Reconciles
	// Service that is simulated.
	Service *simulator.Service
}

// NewFixture has no Service yet.
func NewFixture(t *testing.T, api client.WithWatch, namespace string) *Fixture {
	f := &Fixture{WithT: NewWithT(t), t: t, Client: api, Namespace: namespace, Reconciles: &optest.Reconciles{}}
	f.SetDefaultEventuallyTimeout(timeout)
	f.SetDefaultEventuallyPollingInterval(interval)
	return f
}

// Create an object.
func (f *Fixture) Create(object client.Object) {
	f.t.Helper()
	f.Expect(f.Client.Create(f.t.Context(), object)).To(Succeed())
}

// Change an object, and retry on conflict.
func Change[T client.Object](f *Fixture, object T, change func(T)) {
	f.t.Helper()
	untilWritten(f, object, change, func(o client.Object) error { return f.Client.Update(f.t.Context(), o) })
}

// ChangeStatus changes the status of an object, and retries on conflict.
func ChangeStatus[T client.Object](f *Fixture, object T, change func(T)) {
	f.t.Helper()
	untilWritten(f, object, change, func(o client.Object) error { return f.Client.Status().Update(f.t.Context(), o) })
}

func untilWritten[T client.Object](f *Fixture, object T, change func(T), write func(client.Object) error) {
	f.t.Helper()
	f.Eventually(func() error {
		if err := f.Read(object); err != nil {
			return err
		}
		change(object)
		return write(object)
	}).Should(Succeed())
}

// Delete an object.
func (f *Fixture) Delete(object client.Object) {
	f.t.Helper()
	f.Expect(f.Client.Delete(f.t.Context(), object)).To(Succeed())
}

// Read an object again.
func (f *Fixture) Read(object client.Object) error {
	return f.Client.Get(f.t.Context(), client.ObjectKeyFromObject(object), object)
}

// Ledger of an object; nil if it has none.
func (f *Fixture) Ledger(object client.Object) *ledgerv1.Ledger {
	f.t.Helper()
	l, err := ledgers.Of(f.t.Context(), f.Client, f.Client.Scheme(), object)
	f.Expect(err).NotTo(HaveOccurred())
	return l
}

// UntilReady waits for the condition Ready.
func (f *Fixture) UntilReady(object graph.Owner) {
	f.t.Helper()
	f.UntilTrue(object, graph.ReadyCondition)
}

// UntilTrue waits for a condition.
func (f *Fixture) UntilTrue(object graph.Owner, condition string) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(object.GetConditions(), condition)).To(BeTrue(), "%s: %+v", condition, object.GetConditions())
	}).Should(Succeed())
}

// UntilReason waits until a condition that isn't True has a reason and a message.
func (f *Fixture) UntilReason(object graph.Owner, condition, reason, message string) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		found := meta.FindStatusCondition(object.GetConditions(), condition)
		g.Expect(found).NotTo(BeNil())
		g.Expect(found.Status).NotTo(Equal(metav1.ConditionTrue))
		g.Expect(found.Reason).To(Equal(reason), found.Message)
		g.Expect(found.Message).To(ContainSubstring(message))
	}).Should(Succeed())
}

// UntilGone waits until an object is gone.
func (f *Fixture) UntilGone(object client.Object) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		err := f.Read(object)
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		left := ""
		if owner, is := object.(graph.Owner); is {
			left = fmt.Sprintf("%+v", owner.GetConditions())
		}
		g.Expect(err).To(HaveOccurred(), left)
	}).Should(Succeed())
}

// World of the operations suite: the controllers, and an object that isn't created yet. Look is the suite's.
func (f *Fixture) World(object client.Object, look func(map[string]any) ([]string, bool)) *optest.World {
	return &optest.World{
		Client: f.Client, Object: object, Look: look, Reconciles: f.Reconciles.Count,
		Calls: func() (sum int) {
			for _, n := range f.Service.Calls() {
				sum += n
			}
			return sum
		},
	}
}

// Fault lets calls of the service go wrong.
func (f *Fixture) Fault(fault simulator.Fault) {
	f.t.Helper()
	f.Expect(f.Service.AddFault(fault)).To(Succeed())
}

// Refuse every call of the operations with a status until the returned function is called.
func (f *Fixture) Refuse(status int, operations ...string) (heal func()) {
	f.t.Helper()
	for _, operation := range operations {
		f.Fault(simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: status, Times: -1, Message: http.StatusText(status)})
	}
	return f.Service.ClearFaults
}

// Called is how often an operation of the service was called.
func (f *Fixture) Called(operation string) int { return f.Service.Calls()[operation] }
