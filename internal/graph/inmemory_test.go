package graph_test

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// few kinds: the fake client goes through all that its scheme has for each write.
var few = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Namespace{}, &corev1.Secret{}, &corev1.SecretList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	utilruntime.Must(bmmv1.AddToScheme(scheme))
	utilruntime.Must(ledgerv1.AddToScheme(ledgerv1.GroupBMM)(scheme))
	return scheme
})

// inMemory is a fixture without an API server.
func inMemory(t testing.TB) *fixture {
	t.Helper()
	return inMemoryAs(t, "owner")
}

// inMemoryAs is one whose owner has another name.
func inMemoryAs(t testing.TB, name string) *fixture {
	t.Helper()
	f := &fixture{
		WithT: NewWithT(t), t: t, service: newService(), clock: clocktesting.NewFakeClock(time.Now()), below: []string{"left", "right"},
		events: events.NewFakeRecorder(10000), name: client.ObjectKey{Namespace: "default", Name: name},
	}
	f.SetDefaultEventuallyTimeout(time.Minute)
	owner := &bmmv1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.name.Namespace, Name: f.name.Name, UID: types.UID("an-" + name), Generation: 1, Finalizers: []string{finalizer},
	}}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "home"}}
	f.client = fake.NewClientBuilder().WithScheme(few()).WithObjects(owner, home).Build()
	return f
}

// round reconciles an owner that wants one thing, of a kind that may be changed.
func (f *fixture) round(owner graph.Owner, claim graph.Claim, change ...func(*graph.Kind[thing])) error {
	f.t.Helper()
	g, kind := f.graphOf(owner, change...)
	want := f.want("lonely")
	want.Claim = claim
	graph.Add(g, kind, want)
	_, err := g.Reconcile(f.t.Context())
	return err
}

func (f *fixture) graphOf(owner graph.Owner, change ...func(*graph.Kind[thing])) (*graph.Graph, *graph.Kind[thing]) {
	f.t.Helper()
	kind := f.service.kind()
	for _, c := range change {
		c(kind)
	}
	g, err := f.engine().New(f.t.Context(), owner, []string{"any"}, kind)
	f.Expect(err).NotTo(HaveOccurred())
	return g, kind
}

// put makes one of the user's own.
func (f *fixture) put(title string) *thing {
	f.t.Helper()
	own, err := f.service.create(graph.Tag{})
	f.Expect(err).NotTo(HaveOccurred())
	own.title = title
	return own
}

func (f *fixture) update(l *ledgerv1.Ledger, change func(*ledgerv1.Ledger)) {
	f.t.Helper()
	change(l)
	f.Expect(f.client.Update(context.Background(), l)).To(Succeed())
}
