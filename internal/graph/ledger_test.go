package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// showing is an owner whose status shows things.
type showing struct {
	*bmmv1.NvidiaBMMCluster
	ids []string
}

func (s showing) Unwrap() client.Object { return s.NvidiaBMMCluster }

func (s showing) OutsideIDs() (all []ledgerv1.OutsideID) {
	for _, id := range s.ids {
		all = append(all, ledgerv1.OutsideID{Kind: "thing", ID: id})
	}
	return all
}

// madeAll makes everything, and returns the owner as its status shows it, and its ledger.
func (f *fixture) madeAll() (showing, *ledgerv1.Ledger) {
	f.t.Helper()
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(Equal(everything))
	return f.shown(), f.ledger()
}

func (f *fixture) shown() showing {
	return showing{f.owner(), []string{"id-1", "id-2", "id-3", "id-4"}}
}

// refused expects that the owner's ledger can't be used, and that nothing outside is touched because of it.
func (f *fixture) refused(owner graph.Owner, says string) {
	f.t.Helper()
	calls := f.service.changes()
	_, err := f.reconcileObject(owner)
	f.Expect(err).To(MatchError(ContainSubstring(says)))
	f.Expect(fault.ClassOf(err)).To(Equal(fault.Invalid))
	f.Expect(f.ownsNothing(owner)).To(BeFalse())
	f.Expect(f.service.changes()).To(Equal(calls))
}

// takesOver gives the owner the annotation, and expects that everything is as it was before, without a create.
func (f *fixture) takesOver(owner graph.Owner) {
	f.t.Helper()
	owner.SetAnnotations(map[string]string{ledgerv1.TakeOverAnnotation: "true"})
	calls := f.service.changes()
	_, err := f.reconcileObject(owner)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(owner.GetAnnotations()).To(BeEmpty(), "it has been done")
	f.Expect(f.service.changes()).To(Equal(calls))
	_, err = f.reconcileObject(f.shown())
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(Equal(everything))
}

// deleteAll deletes the owner, and expects that nothing is left of it.
func (f *fixture) deleteAll(show func() graph.Owner) {
	f.t.Helper()
	f.Expect(client.IgnoreNotFound(f.client.Delete(f.t.Context(), f.owner()))).To(Succeed())
	for range 10 {
		g, err := f.engine().New(f.t.Context(), show(), []string{"any"}, f.service.kind())
		f.Expect(err).NotTo(HaveOccurred())
		_, err = g.DeleteAndRelease(f.t.Context(), finalizer)
		f.Expect(err).NotTo(HaveOccurred())
		f.service.finish()
		if apierrors.IsNotFound(f.client.Get(f.t.Context(), f.name, &bmmv1.NvidiaBMMCluster{})) {
			f.Expect(f.service.keys()).To(BeEmpty())
			return
		}
	}
	f.t.Fatalf("not gone in ten rounds: %v", f.service.keys())
}

// `kubectl replace --force` deletes an object, waits until it is gone, and makes it again.
func TestLedger_ofAReplacedObjectIsClosedAndAnotherBegins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner, ledger := f.madeAll()
	f.deleteAll(func() graph.Owner { return f.owner() })
	closed := &ledgerv1.Ledger{}
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(ledger), closed)).To(Succeed())
	f.Expect(closed.Spec.Closed).To(BeTrue())
	f.Expect(closed.Finalizers).To(BeEmpty(), "the garbage collector takes it away")

	f.recreate(owner.NvidiaBMMCluster)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(Equal(everything))
	f.Expect(f.ledger().Spec.OwnerID).NotTo(Equal(ledger.Spec.OwnerID))
	f.Expect(f.ledger().Spec.Closed).To(BeFalse())
	f.deleteAll(func() graph.Owner { return f.owner() })
}

// Server-side apply with force, and Argo CD's Replace=true, overwrite everything of the object that isn't in the manifest.
func TestLedger_isOutOfReachOfManifests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, before := f.madeAll()
	calls := f.service.changes()
	manifest := &bmmv1.NvidiaBMMCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: bmmv1.GroupVersion.String(), Kind: "NvidiaBMMCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: f.name.Name, Namespace: f.name.Namespace},
		Spec:       f.owner().Spec,
	}
	apply := manifest.DeepCopy()
	f.Expect(f.client.Patch(t.Context(), apply, client.Apply, client.ForceOwnership, client.FieldOwner("argo"))).To(Succeed()) //nolint:staticcheck // as kubectl does
	replace := manifest.DeepCopy()
	replace.ResourceVersion = f.owner().ResourceVersion
	f.Expect(f.client.Update(t.Context(), replace)).To(Succeed())
	f.Expect(f.owner().Finalizers).To(BeEmpty())

	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "Ready", metav1.ConditionTrue, "Ready", "")
	f.Expect(f.ledger()).To(Equal(before))
	f.Expect(f.service.changes()).To(Equal(calls))
}

// A manifest in Git has the old name; the finalizer was removed by hand, and what was created still exists.
func TestLedger_ofAnEarlierObjectOfTheSameNameIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before, ledger := f.madeAll()
	f.stripped(f.owner())
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(ledger), ledger)).To(Succeed(), "it outlives its owner")
	f.recreate(before.NvidiaBMMCluster)
	f.refused(f.owner(), "is that of an earlier NvidiaBMMCluster of this name")
	f.takesOver(f.owner())
	f.deleteAll(func() graph.Owner { return f.owner() })
}

func TestLedger_ofAnotherManagementClusterIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, ledger := f.madeAll()
	ledger.Spec.Home, ledger.OwnerReferences[0].UID = "another", "another"
	f.Expect(f.client.Update(t.Context(), ledger)).To(Succeed())
	f.refused(f.owner(), "is that of another management cluster")
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.refused(f.owner(), "is that of another management cluster")
	f.Expect(f.owner().Finalizers).To(ContainElement(finalizer))
	f.takesOver(f.owner())
	f.Expect(f.ledger().Spec.Home).NotTo(Equal("another"))
	f.deleteAll(func() graph.Owner { return f.owner() })
}

// The original may still be in use: what it makes must not be taken for what is made here.
func TestLedger_thatWasCopiedWithNothingInItGetsAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ledgerv1.Ledger){
		"of another management cluster": func(l *ledgerv1.Ledger) { l.Spec.Home, l.OwnerReferences[0].UID = "another", "another" },
		"of an earlier object":          func(l *ledgerv1.Ledger) { l.OwnerReferences[0].UID = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.service.failing("create net", &fault.Error{Class: fault.Quota})
			f.below = nil
			f.service.before = func(string) error { return &fault.Error{Class: fault.Quota} }
			_, err := f.reconcile()
			f.Expect(err).NotTo(HaveOccurred())
			f.service.before = nil
			copied := f.ledger()
			change(copied)
			f.Expect(f.client.Update(t.Context(), copied)).To(Succeed())
			_, err = f.service.create(graph.Tag{Owner: copied.Spec.OwnerID, Key: "net"})
			f.Expect(err).NotTo(HaveOccurred())
			_, err = f.reconcile()
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(f.ledger().Names(ledgerv1.OutsideID{Kind: "thing", ID: "id-1"})).To(BeFalse(), "that is the other one's")
			f.Expect(f.service.keys()).To(Equal([]string{"lonely", "net", "net"}))
		})
	}
}

// Velero with existingResourcePolicy=update puts an older one back.
func TestLedger_thatIsOlderThanWhatWasMade(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(*fixture){
		"goes on": func(f *fixture) {
			calls := f.service.changes()
			_, err := f.reconcileObject(f.shown())
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(f.service.changes()).To(Equal(calls))
			f.Expect(ledgers.Resources(f.ledger())).To(HaveLen(len(everything)))
		},
		"is deleted": func(*fixture) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.madeAll()
			older := f.ledger()
			older.Spec.Entries = older.Spec.Entries[:1]
			f.Expect(f.client.Update(t.Context(), older)).To(Succeed())
			f.Expect(f.ownsNothing(f.shown())).To(BeFalse())
			then(f)
			f.deleteAll(func() graph.Owner { return f.shown() })
		})
	}
}

// A namespace is deleted in no order: the ledger may be deleted before its owner.
func TestLedger_thatIsBeingDeletedServesUntilItsOwnerIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, ledger := f.madeAll()
	f.Expect(f.client.Delete(t.Context(), ledger)).To(Succeed())
	delete(f.service.things, "id-1")
	f.untilReady(0)
	f.Expect(f.service.keys()).To(Equal(everything))
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	for done := false; !done; f.service.finish() {
		_, done = f.delete()
	}
	f.Expect(f.ownsNothing(f.shown())).To(BeTrue(), "the proof outlives a crash before the finalizer is off")
	f.deleteAll(func() graph.Owner { return f.shown() })
	f.Expect(apierrors.IsNotFound(f.client.Get(t.Context(), client.ObjectKeyFromObject(ledger), ledger))).To(BeTrue())
}

func TestLedger_thatIsLostIsRebuiltOnDemandOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, ledger := f.madeAll()
	f.stripped(f.ledger())
	f.refused(f.shown(), "is lost, but there is or was thing id-1")
	f.takesOver(f.shown())
	f.Expect(f.ledger().Spec.OwnerID).To(Equal(ledger.Spec.OwnerID))
	f.deleteAll(func() graph.Owner { return f.owner() })
}

func TestLedger_isNotRebuiltFromWhatIsNotCertain(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*fixture)
		says   string
	}{
		"another's tag":  {func(f *fixture) { f.service.things["id-2"].tag.Owner = "another" }, "2 different owner IDs"},
		"no tag":         {func(f *fixture) { f.service.things["id-2"].tag = graph.Tag{} }, "thing id-2 has no tag"},
		"all of it gone": {func(f *fixture) { clear(f.service.things) }, "if all of it is gone, remove the finalizer"},
		"in another ledger": {func(f *fixture) {
			other := newFixture(f.t)
			other.service.failing("create lonely", &fault.Error{Class: fault.Quota})
			_, err := other.reconcile()
			f.Expect(err).NotTo(HaveOccurred())
			l := other.ledger()
			l.Spec.OwnerID = f.service.things["id-1"].tag.Owner
			f.Expect(f.client.Update(f.t.Context(), l)).To(Succeed())
		}, "don't belong to this object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.madeAll()
			f.stripped(f.ledger())
			row.change(f)
			owner := f.shown()
			owner.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true"}
			f.refused(owner, row.says)
			f.Expect(f.ledger()).To(BeNil())
		})
	}
}

// Nothing of another's is deleted because its ID was written into a ledger.
func TestLedger_thatWasEditedByHandDeletesNothingOfAnothers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.below = nil
	f.madeSome("net", "lonely")
	other, err := f.service.create(graph.Tag{Owner: "another", Key: "net"})
	f.Expect(err).NotTo(HaveOccurred())
	edited := f.ledger()
	edited.Entry("net").ID = other.id
	f.Expect(f.client.Update(t.Context(), edited)).To(Succeed())
	for range 3 {
		owner, done := f.delete()
		f.service.finish()
		f.Expect(done).To(BeFalse())
		f.expectCondition(owner, "netReady", metav1.ConditionFalse, "ForeignTag", "carries the tag of another object")
	}
	f.Expect(f.service.things).To(HaveKey(other.id))
}

func (f *fixture) madeSome(keys ...string) {
	f.t.Helper()
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(ConsistOf(keys))
}

func TestLedger_isOneForEachObject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, ledger := f.madeAll()
	second := &ledgerv1.Ledger{ObjectMeta: metav1.ObjectMeta{Namespace: ledger.Namespace, Name: "second"}, Spec: ledger.Spec}
	f.Expect(f.client.Create(t.Context(), second)).To(MatchError(ContainSubstring("a ledger is named after its owner")))
	ledger.Spec.Owner.Name = "another"
	f.Expect(f.client.Update(t.Context(), ledger)).NotTo(Succeed())
}

func TestLedger_thatIsDamagedIsNotTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.madeAll()
	for what, damage := range map[string]func(*ledgerv1.Ledger){
		"no owner":             func(l *ledgerv1.Ledger) { l.Spec.Owner = ledgerv1.Owner{} },
		"no ID":                func(l *ledgerv1.Ledger) { l.Spec.OwnerID = "" },
		"an ID that isn't one": func(l *ledgerv1.Ledger) { l.Spec.OwnerID = "not hexadecimal" },
		"no home":              func(l *ledgerv1.Ledger) { l.Spec.Home = "" },
		"no key":               func(l *ledgerv1.Ledger) { l.Spec.Entries[0].Key = "" },
		"a key twice":          func(l *ledgerv1.Ledger) { l.Spec.Entries[0].Key = l.Spec.Entries[1].Key },
		"no kind":              func(l *ledgerv1.Ledger) { l.Spec.Entries[0].Kind = "" },
		"another state":        func(l *ledgerv1.Ledger) { l.Spec.Entries[0].State = "lost" },
	} {
		l := f.ledger()
		damage(l)
		f.Expect(f.client.Update(t.Context(), l)).NotTo(Succeed(), what)
	}
}

// The cache doesn't know yet what the server does.
func TestCreate_doesNotBeginForAnOwnerThatIsNotWhatItWas(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fixture){
		"it was paused":  func(f *fixture) { f.paused = true },
		"it was deleted": func(f *fixture) { f.Expect(f.client.Delete(f.t.Context(), f.owner())).To(Succeed()) },
		"it was replaced": func(f *fixture) {
			before := f.owner()
			f.stripped(before)
			f.recreate(before)
		},
		"it is gone": func(f *fixture) { f.stripped(f.owner()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			stale := f.owner()
			change(f)
			result, err := f.reconcileObject(stale)
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
			f.Expect(stale.Status.Conditions).To(BeEmpty())
			f.Expect(f.service.keys()).To(BeEmpty())
			l, err := ledgers.Of(t.Context(), f.client, f.client.Scheme(), stale)
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(l != nil && l.Owns()).To(BeFalse(), "nothing is pending that never began")
		})
	}
}

// Another client takes the references and the finalizer off: the ledger says itself whose it is, and both come back.
func TestLedger_getsBackWhatAnotherClientTookOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	before := f.ledger()
	stripped := before.DeepCopy()
	stripped.OwnerReferences, stripped.Finalizers = nil, nil
	f.Expect(f.client.Update(t.Context(), stripped)).To(Succeed())
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().OwnerReferences).To(Equal(before.OwnerReferences))
	f.Expect(f.ledger().Finalizers).To(Equal(before.Finalizers))
	f.Expect(f.ledger().Spec.OwnerID).To(Equal(before.Spec.OwnerID))
	f.Expect(f.service.keys()).To(Equal(everything))
}
