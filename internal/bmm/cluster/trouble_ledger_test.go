package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/testenv"
)

// The user names another group of theirs while another client writes to the object, so that the status can't be written at first.
func TestGroup_anotherOneWhileAnotherClientWrites(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc, a, b := f.MakeVPC("own", bmm.EthernetVirtualizer), f.MakeGroup("a"), f.MakeGroup("b")
	named := func(id string) func(*infrav1.NvidiaBMMCluster) {
		return func(c *infrav1.NvidiaBMMCluster) {
			c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: id}
		}
	}
	object := f.CreateCluster("demo", in(vpc), named(a))
	f.UntilReady(object)
	label := func(n int) {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, n))
		f.Expect(f.Client.Patch(t.Context(), object.DeepCopy(), patch)).To(Succeed())
	}
	for _, want := range []string{b, a, b} {
		bmmtest.Change(f, object, named(want))
		for n := range 10 {
			time.Sleep(5 * time.Millisecond) // while it reconciles
			label(n)
		}
		f.Eventually(func() string {
			f.Expect(f.Read(object)).To(Succeed())
			return object.Status.NetworkSecurityGroupID
		}).Should(Equal(want), func() string { return fmt.Sprint(object.Status.Conditions) })
	}
	f.UntilReady(object)
}

type broken struct{}

func (broken) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("etcdserver: leader changed")
}

// The ledger is an older one, and the Secret can't be read for a moment: that is no proof that there is nothing.
func TestDelete_releasesNothingForAMomentOfTrouble(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := metav1.Now()
	object := &infrav1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "demo", UID: "a-cluster", Finalizers: []string{infrav1.ClusterFinalizer, "example.com/another"}, DeletionTimestamp: &now,
	}}
	object.Spec.Authentication.SecretRef.Name = "bmm"
	l := &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nvidiabmmcluster-demo", Finalizers: []string{ledgerv1.Finalizer}},
		Spec: ledgerv1.LedgerSpec{
			Owner: ledgerv1.Owner{Kind: "NvidiaBMMCluster", Name: "demo"}, OwnerID: "0123456789ab", OwnerUID: "a-cluster", Home: "home", Credentials: []string{"default/bmm"},
			Entries: []ledgerv1.Entry{{Key: "site", Kind: "site", State: ledgerv1.Bound, ID: "1", Foreign: true}},
		},
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "home"}}
	c := fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).WithObjects(object, l, home).WithStatusSubresource(object).Build()
	r := &cluster.Reconciler{
		Client: c,
		Logins: lifecycle.Logins[*bmm.Client]{
			Engine:  &graph.Engine{Store: &ledgers.Store{Client: c, Live: c}, Clock: clock.RealClock{}, Poll: time.Second, Settle: time.Minute, Recorder: events.NewFakeRecorder(100)},
			Clients: &credentials.Cache[*bmm.Client]{Reader: broken{}, Clock: clock.RealClock{}},
		},
	}
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	after := &infrav1.NvidiaBMMCluster{}
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), after)).To(Succeed())
	g.Expect(after.Finalizers).To(ContainElement(infrav1.ClusterFinalizer), "released; error: %v", err)
}
