package powervstest

import (
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/ledgers"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// API is the user's own access to the account: its changes are outside the provider.
func (f *Fixture) API() *ibm.Client {
	f.t.Helper()
	api, err := ibm.New(ibm.Config{APIKey: sim.DefaultAPIKey, Endpoints: endpoints, Limits: httpclient.Limits{
		Egress: egress.Policy{Loopback: true}, HTTP: &http.Client{Transport: f.Transport},
	}})
	f.Expect(err).NotTo(HaveOccurred())
	return api
}

// Create an object.
func (f *Fixture) Create(object client.Object) {
	f.t.Helper()
	f.Expect(f.Client.Create(f.t.Context(), object)).To(Succeed())
}

// Change an object, and retry on conflict.
func Change[T client.Object](f *Fixture, object T, change func(T)) {
	f.t.Helper()
	f.Eventually(func() error {
		if err := f.Client.Get(f.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return f.Client.Update(f.t.Context(), object)
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

// UntilReason waits until a condition has a reason and a message.
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

// Refuse every call of the operations with a status until the returned function is called.
func (f *Fixture) Refuse(status int, operations ...string) (heal func()) {
	for _, operation := range operations {
		f.Fault(simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: status, Times: -1, Message: http.StatusText(status)})
	}
	return f.Cloud.ClearFaults
}

// Fault lets calls go wrong.
func (f *Fixture) Fault(fault simulator.Fault) {
	f.t.Helper()
	f.Expect(f.Cloud.AddFault(fault)).To(Succeed())
}

// Called is how often an operation was called.
func (f *Fixture) Called(operation string) int { return f.Cloud.Calls()[operation] }

// Made are the names of what clients have made of a kind, and that isn't gone.
func (f *Fixture) Made(kind sim.Kind) (names []string) {
	for _, item := range f.Cloud.State()[kind] {
		if !item.World && !item.Record {
			names = append(names, item.Name)
		}
	}
	return names
}

// owner is written instead of the ID of an object that something was made for.
const owner = "OWNER"

// NameOf something outside, the same in each world: without what is random in it.
func NameOf(name string) string {
	if strings.HasPrefix(name, "unnamed-") {
		return "unnamed"
	}
	parts := strings.Split(name, "-")
	for i, part := range parts {
		if ledgers.IsOwnerID(part) {
			parts[i] = owner
		}
	}
	return strings.Join(parts, "-")
}
