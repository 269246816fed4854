package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// An attempt whose outcome isn't known must not be forgotten: what it has made would stand beside what was adopted.
func TestAdoptInto_notInPlaceOfAnAttempt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.below = nil
	f.service.after = func(call string) error {
		if call == "create net" {
			return errors.New("connection reset")
		}
		return nil
	}
	_, _ = f.reconcile()
	f.service.after = nil
	f.Expect(f.ledger().Entry("net").State).To(Equal(ledgerv1.Pending))
	other, err := f.service.create(graph.Tag{Owner: f.ledger().Spec.OwnerID, Key: "net"})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "net", Kind: "thing", ID: other.id, Own: true})).
		NotTo(Succeed())
}

// What is the user's own doesn't become ours by the way.
func TestAdoptInto_doesNotMakeTheUsersOwnOurs(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("shared")
	f.Expect(f.round(f.owner(), graph.UseOrCreate("shared"), untagged)).To(Succeed())
	f.Expect(f.ledger().Entry("lonely").Foreign).To(BeTrue())
	err := f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "lonely", Kind: "thing", ID: theirs.id, Own: true})
	f.Expect(err).To(HaveOccurred())
	f.Expect(f.ledger().Entry("lonely").Foreign).To(BeTrue())
}

// The ID of a similar object's ledger was copied. Deleting one of the two would delete what the other has.
func TestSeed_notWithTheIDOfAnotherObject(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	second := &bmmv1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.name.Namespace, Name: "second", UID: "second", Finalizers: []string{finalizer},
	}}
	f.Expect(f.client.Create(t.Context(), second)).To(Succeed())
	f.Expect(f.engine().Seed(t.Context(), second, ledger.Spec.OwnerID, []string{"any"}, nil, ledgers.Resource{Key: "net", Kind: "thing", ID: "id-1", Own: true})).
		To(MatchError(ContainSubstring(ledger.Name)))
}

// `bedplate ledger seed … site=site/ID`, and adopt without --yours, are taken. bmm's site has neither Find nor Delete.
func TestSeed_ofWhatCannotBeDeleted(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("site")
	open := func() *graph.Graph {
		site := f.service.kind()
		site.Name, site.Tag, site.Find, site.Delete = "site", nil, nil, nil
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, site)
		f.Expect(err).NotTo(HaveOccurred())
		return g
	}
	f.Expect(f.engine().Seed(t.Context(), f.owner(), "0123456789ab", []string{"any"}, nil, ledgers.Resource{Key: "site", Kind: "site", ID: theirs.id, Own: true})).To(Succeed())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
		}
	}()
	_, _, _ = open().Delete(t.Context())
}

// The same ledger has it under another key already: the spec doesn't ask for the second key, so the manager deletes what the first names.
func TestAdoptInto_notUnderASecondKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create(), untagged)).To(Succeed())
	err := f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "mistyped", Kind: "thing", ID: "id-1", Own: true})
	_ = f.round(f.owner(), graph.Create(), untagged)
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "adopt said: %v", err)
}

// Another provider's status is taken over: what it names is read first.
func TestSeed_looksAtWhatIsEntered(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	other, err := f.service.create(graph.Tag{Owner: "0123456789ab", Key: "net"})
	f.Expect(err).NotTo(HaveOccurred())
	seed := func(r ledgers.Resource) error {
		return f.engine().Seed(t.Context(), f.owner(), "", []string{"any"}, []graph.AnyKind{f.service.kind()}, r)
	}
	f.Expect(seed(ledgers.Resource{Key: "lonely", Kind: "thing", ID: "id-9", Own: true})).To(MatchError(ContainSubstring("thing id-9 doesn't exist")))
	f.Expect(seed(ledgers.Resource{Key: "lonely", Kind: "rocket", ID: "id-1", Own: true})).To(MatchError(ContainSubstring("rocket")))
	f.Expect(seed(ledgers.Resource{Key: "lonely", Kind: "thing", ID: other.id, Own: true})).To(MatchError(ContainSubstring("tag of another object")))
	f.service.failing("get "+theirs.id, errors.New("connection reset"))
	f.Expect(seed(ledgers.Resource{Key: "lonely", Kind: "thing", ID: theirs.id, Own: true})).To(MatchError(ContainSubstring("connection reset")))
	f.service.before = nil
	f.Expect(f.ledger()).To(BeNil())
	f.Expect(seed(ledgers.Resource{Key: "lonely", Kind: "thing", ID: theirs.id})).To(Succeed())
	f.Expect(f.ledger().Entry("lonely").Foreign).To(BeTrue())
	f.Expect(ledgers.IsOwnerID(f.ledger().Spec.OwnerID)).To(BeTrue())
	f.Expect(seed(ledgers.Resource{Key: "net", Kind: "thing", ID: theirs.id})).To(Succeed(), "nothing is owned yet")
	f.Expect(f.service.changes()).To(ConsistOf("create ", "create net"))
}

// Another provider has made it, and the service can't set a tag later: it is deleted by what the ledger says.
func TestSeed_ofWhatCarriesNoTagIsDeletedWithItsOwner(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.below = nil
	bare := f.put("of another provider")
	seed := func(resources ...ledgers.Resource) error {
		return f.engine().Seed(t.Context(), f.owner(), "", []string{"any"}, []graph.AnyKind{f.service.kind()}, resources...)
	}
	f.Expect(seed(ledgers.Resource{Key: "lonely", Kind: "thing", ID: bare.id, Own: true})).To(Succeed())
	f.Expect(f.ledger().Entry("lonely").Untagged).To(Equal(bare.id))
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.Expect(f.service.changes()).To(ConsistOf("create "))
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	for range 3 {
		f.delete()
		f.service.finish()
	}
	f.Expect(f.service.changes()).To(ConsistOf("create ", "delete "+bare.id))
}

// Its owner is being deleted: what is gone already is no obstacle.
func TestSeed_ofWhatIsGoneWhenItsOwnerIsDeleted(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.Expect(f.engine().Seed(t.Context(), f.owner(), "", []string{"any"}, []graph.AnyKind{f.service.kind()},
		ledgers.Resource{Key: "lonely", Kind: "thing", ID: "id-9", Own: true})).To(Succeed())
	f.Expect(f.ledger().Entry("lonely").Untagged).To(BeEmpty())
}
