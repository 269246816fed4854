package graph_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/event"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/patch"
)

// An owner was read from a cache that is behind. What was written meanwhile mustn't be overwritten.
func TestMove_isHeldUpWithoutLosingTheLock(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	stale := f.owner()
	before := stale.DeepCopy()
	newer := f.owner()
	newer.Spec.VPC.Description = "newer"
	f.Expect(f.client.Update(t.Context(), newer)).To(Succeed())
	g, kind := f.graphOf(stale)
	f.wants(g, kind)
	_, _ = g.Reconcile(t.Context())
	stale.Spec.VPC.Description = "stale"
	err := patch.All(t.Context(), f.client, before, stale)
	f.Expect(f.owner().Spec.VPC.Description).To(Equal("newer"), "error: %v", err)
}

func TestPlan_takesNoLedgerOver(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) {
		l.Spec.Home, l.Spec.OwnerUID, l.OwnerReferences[0].UID = "another", "another", "another"
	})
	before := f.ledger().ResourceVersion
	owner := f.owner()
	owner.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true"}
	engine := f.engine()
	engine.OnlyLooks = true
	_, err := engine.New(t.Context(), owner, []string{"any"}, f.service.kind())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().ResourceVersion).To(Equal(before))
}

// A move: pending at a service that settles later than the engine; in the new home nothing is created before that.
func TestMove_createsNothingBeforeASlowServiceHasSettled(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	kind := f.service.kind()
	kind.Service = &graph.Service{Endpoint: "slow", Settle: 10 * time.Minute}
	owner := f.owner()
	run := func(fail bool) {
		f.service.before = func(call string) error {
			if fail && call == "create lonely" {
				return errors.New("killed")
			}
			return nil
		}
		owner = f.owner()
		g, err := f.engine().New(t.Context(), owner, []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		w := f.want("lonely")
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
	}
	run(true)
	f.clock.Step(2 * time.Minute)
	owner = f.owner()
	result, err := f.engine().LetMove(t.Context(), owner)
	f.Expect(err).NotTo(HaveOccurred())
	t.Log("LetMove waits another", result.RequeueAfter)
	run(false)
	f.Expect(f.service.called("create lonely")).To(Equal(1))
}

// A former leader, or a reconcile whose cache is behind: the owner is paused, and clusterctl already may move it.
func TestBlockMove_ofWhatIsPausedIsTakenBack(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	behind := f.owner()
	newer := f.owner()
	newer.Labels = map[string]string{"a": "b"}
	f.Expect(f.client.Update(t.Context(), newer)).To(Succeed())
	f.paused = true
	_, err := f.engine().LetMove(t.Context(), f.owner())
	f.Expect(err).NotTo(HaveOccurred())
	before := f.owner()
	g, kind := f.graphOf(behind)
	f.wants(g, kind)
	_, _ = g.Reconcile(t.Context())
	f.Expect(f.service.changes()).To(BeEmpty(), "it is paused")
	f.Expect(behind.Annotations).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation), "or the caller writes it")
	after := f.owner()
	woken := graph.ChangedByOthers().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	f.Expect(after.Annotations).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation), "and nothing takes it off: whoever leads is woken: %v", woken)
}
