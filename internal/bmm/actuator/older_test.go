package actuator_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/testenv"
)

// Etcd was restored from when the instance had been refused (a quota); it was made since. Then the Machine is deleted.
func TestDelete_withALedgerOfBeforeAnything(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.ready("worker")
	f.stopping()
	at := metav1.Time{Time: time.Now().Add(-time.Hour)}
	l := f.Ledger(m)
	l.Spec.Entries = []ledgerv1.Entry{{
		Key: "instance", Kind: "instance", Condition: infrav1.InstanceProvisionedCondition, State: ledgerv1.Refused, At: &at, Refusal: "Quota", Message: "none left",
	}}
	f.Expect(f.Client.Update(t.Context(), l)).To(Succeed())
	f.Expect(f.Read(m)).To(Succeed())
	m.Spec.ProviderID = nil
	f.Expect(f.Client.Update(t.Context(), m)).To(Succeed())
	m.Status = machinev1.MachineStatus{}
	f.Expect(f.Client.Status().Update(t.Context(), m)).To(Succeed())
	f.Delete(m)
	f.run(bmmtest.Poll)
	gone := func() bool { return client.IgnoreNotFound(f.Read(m)) == nil && f.Read(m) != nil }
	f.Eventually(gone).Should(BeTrue(), func() string {
		return "instances left: " + strconv.Itoa(len(f.instances())) + "\n" + conditionsOf(m)
	})
}

func conditionsOf(m *machinev1.Machine) (text string) {
	for _, c := range statusOf(m).Conditions {
		text += c.Type + " " + string(c.Status) + " " + c.Reason + " " + c.Message + "\n"
	}
	return text
}

type broken struct{}

func (broken) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("etcdserver: leader changed")
}

// The ledger is an older one, and the API server is in trouble for a moment: that is no proof that there is nothing.
func TestDelete_releasesNothingForAMomentOfTrouble(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := metav1.Now()
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "worker", UID: "a-machine", Finalizers: []string{"machine.machine.openshift.io"}, DeletionTimestamp: &now,
	}}
	m.Spec.ProviderSpec.Value = raw(&bmmv1.NvidiaBMMMachineProviderSpec{
		TypeMeta:          metav1.TypeMeta{APIVersion: bmmv1.GroupVersion.String(), Kind: bmmv1.ProviderSpecKind},
		CredentialsSecret: bmmv1.SecretReference{Name: "bmm"},
	})
	l := &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "machine-worker"},
		Spec: ledgerv1.LedgerSpec{
			Owner: ledgerv1.Owner{Kind: "Machine", Name: "worker"}, OwnerID: "0123456789ab", OwnerUID: "a-machine", Home: "home", Credentials: []string{"default/bmm"},
		},
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "home"}}
	c := fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).WithObjects(m, l, home).Build()
	a := &actuator.Actuator{Logins: lifecycle.Logins[*bmm.Client]{
		Engine:  &graph.Engine{Store: &ledgers.Store{Client: c, Live: c}, Clock: clock.RealClock{}, Poll: time.Second, Settle: time.Minute, Recorder: silent{}},
		Clients: &credentials.Cache[*bmm.Client]{Reader: broken{}, Clock: clock.RealClock{}},
	}}
	err := a.Delete(t.Context(), m)
	g.Expect(err).To(HaveOccurred(), "the controller takes the finalizer off, and what carries %s is left behind", l.Spec.OwnerID)
}

type silent struct{}

func (silent) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// The tenant was closed after it had refused the instance.
func TestDelete_whereNothingWasMadeWhateverTheCredentials(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.Refuse(http.StatusBadRequest, "createInstance")
	m := f.createMachine("worker")
	f.Eventually(func(g Gomega) {
		l := f.Ledger(m)
		g.Expect(l).NotTo(BeNil())
		g.Expect(l.Entry("instance")).To(HaveField("State", ledgerv1.Refused))
	}).Should(Succeed())
	bmmtest.Change(f.Fixture, f.Secret("bmm"), func(s *corev1.Secret) { s.Data["token"] = []byte("revoked") })
	f.Delete(m)
	f.Eventually(func() bool { return f.Read(m) != nil }).Should(BeTrue(), func() string { return conditionsOf(m) })
}
