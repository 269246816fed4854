package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/testenv"
)

// A subnet was deleted behind our back and made again; the process was killed before the status was written. Now the service is down.
func TestStatus_hasEachNameOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := &infrav1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", UID: "a-cluster"}}
	object.Status.Subnets = []infrav1.SubnetStatus{{Name: "nodes", ID: "old"}}
	l := &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nvidiabmmcluster-demo", Finalizers: []string{ledgerv1.Finalizer}},
		Spec: ledgerv1.LedgerSpec{
			Owner: ledgerv1.Owner{Kind: "NvidiaBMMCluster", Name: "demo"}, OwnerID: "0123456789ab", OwnerUID: "a-cluster", Home: "home", Credentials: []string{"any"},
			Entries: []ledgerv1.Entry{{Key: "subnet/nodes", Kind: "subnet", Condition: infrav1.SubnetsReadyCondition, State: ledgerv1.Bound, ID: "new", Proven: "new"}},
		},
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "home"}}
	c := fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).WithObjects(object, l, home).Build()
	engine := &graph.Engine{Store: &ledgers.Store{Client: c, Live: c}, Clock: clock.RealClock{}, Poll: time.Second, Settle: time.Minute, Recorder: events.NewFakeRecorder(100)}
	kind := &graph.Kind[bmm.Subnet]{
		Name: "subnet", ID: func(s *bmm.Subnet) string { return s.ID },
		Tag: func(*bmm.Subnet) graph.Tag { return graph.Tag{} },
		Get: func(context.Context, string, graph.Scope) (*bmm.Subnet, error) {
			return nil, &fault.Error{Class: fault.Transient, Op: "get subnet", Err: errors.New("502")}
		},
	}
	opened, err := engine.New(t.Context(), object, []string{"any"}, kind)
	g.Expect(err).NotTo(HaveOccurred())
	handle := graph.Add(opened, kind, graph.Want[bmm.Subnet]{Key: "subnet/nodes", Condition: infrav1.SubnetsReadyCondition})
	_, _ = opened.Reconcile(t.Context())
	rows := ranges(opened, kind, object.Status.Subnets, []*graph.Handle[bmm.Subnet]{handle}, func(*bmm.Subnet) string { return "" })
	names := map[string]int{}
	for _, r := range rows {
		names[r.Name]++
	}
	g.Expect(names).To(HaveKeyWithValue("nodes", 1), "name is the key of this list: the API server refuses the whole status: %+v", rows)
}
