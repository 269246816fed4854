package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// A gate of Ready has no condition of its own: what another controller reports in others counts for the sum.
func TestGate_ofReadyIsAPartOfTheSum(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	phase := phases.Waiting("it hasn't answered yet").Because("Connecting")
	owner := f.owner()
	reconcile := func() *bmmv1.NvidiaBMMCluster {
		g, kind := f.graphOf(owner)
		made := graph.Add(g, kind, f.want("lonely"))
		g.Gate(graph.ReadyCondition, func() phases.Phase { return phase }, made)
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		return owner
	}
	f.service.slow = true
	reconcile()
	f.expectCondition(reconcile(), "Ready", metav1.ConditionFalse, "Waiting", "lonelyReady: ")
	f.service.things["id-1"].creating = false
	f.expectCondition(reconcile(), "Ready", metav1.ConditionFalse, "Connecting", "it hasn't answered yet")
	since := meta.FindStatusCondition(owner.Status.Conditions, "Ready").LastTransitionTime
	f.Expect(meta.FindStatusCondition(owner.Status.Conditions, "Ready").Message).To(HavePrefix("it hasn't"))
	f.Expect(meta.FindStatusCondition(reconcile().Status.Conditions, "Ready").LastTransitionTime).To(Equal(since))
	phase = phases.Ready()
	f.expectCondition(reconcile(), "Ready", metav1.ConditionTrue, "Ready", "")
}

// What was refused is asked for again at once, if it is to be made with something else.
func TestCreate_thatWasRefusedIsTriedAgainWithAnotherOneOfWhatIsGiven(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.service.failing("create lonely", &fault.Error{Class: fault.Invalid, Err: errors.New("this user may not")})
	given := int64(7)
	reconcile := func() *bmmv1.NvidiaBMMCluster {
		owner := f.owner()
		g, kind := f.graphOf(owner)
		w := f.want("lonely")
		w.Given = given
		graph.Add(g, kind, w)
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
		return owner
	}
	reconcile()
	f.expectCondition(reconcile(), "lonelyReady", metav1.ConditionFalse, "Invalid", "may not")
	f.Expect(f.service.called("create lonely")).To(Equal(1))
	f.service.before, given = nil, 8
	f.expectCondition(reconcile(), "lonelyReady", metav1.ConditionTrue, "Ready", "")
}
