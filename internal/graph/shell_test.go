package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// shell is an adapter, as for an owner of a kind that isn't ours.
type shell struct{ *bmmv1.NvidiaBMMCluster }

func (s shell) Unwrap() client.Object { return s.NvidiaBMMCluster }

// The API server and the queue know the object only.
func TestOwner_mayBeAShellAroundAnObject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pool = &creates.Pool{Limit: 10}
	queue := f.woken()
	answer := f.slow()
	owner, other := f.owner(), f.owner()
	other.Labels = map[string]string{"touched": "yes"}
	f.Expect(f.client.Update(t.Context(), other)).To(Succeed())
	_, err := f.reconcileObject(shell{owner})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger()).NotTo(BeNil())
	answer()
	f.Eventually(queue.Len).Should(Equal(1))
}

// listener remembers whom events are about.
type listener struct{ about []runtime.Object }

func (l *listener) Eventf(about, _ runtime.Object, _, _, _, _ string, _ ...any) {
	l.about = append(l.about, about)
}

// The object of an event is the real one, too.
func TestOwner_isWithoutItsShellInEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	heard := &listener{}
	engine := f.engine()
	engine.Recorder = heard
	owner := f.owner()
	g, err := engine.New(t.Context(), shell{owner}, []string{"any"})
	f.Expect(err).NotTo(HaveOccurred())
	g.Gate("MoodGood", func() phases.Phase { return phases.Failed("he is ill").Because("Ill") })
	_, err = g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(heard.about).To(HaveExactElements(BeIdenticalTo(owner)))
}
