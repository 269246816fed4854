package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// An older ledger without entries came back beside another object (a restore gives new UIDs), with credentials of another account: there all
// that is shown looks gone, and the remedy must not be to remove the finalizer.
func TestAccount_otherThanThatOfALedgerThatIsRebuilt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	_, err := f.opensIn(account("first"))
	f.Expect(err).NotTo(HaveOccurred())
	shown := f.service.mustFind("lonely").id
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		l.Spec.Entries, l.Spec.Account, l.Spec.OwnerUID, l.OwnerReferences = nil, "first", "another", nil
	})
	open := func(id string) error {
		kind := f.service.kind()
		kind.Service = &graph.Service{Account: account(id)}
		owner := f.owner()
		owner.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true"}
		_, err := f.engine().New(t.Context(), showing{owner, []string{shown}}, []string{"any"}, kind)
		return err
	}
	was := f.service
	f.service = newService() // that of the other account
	err = open("second")
	f.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials), "%v", err)
	f.Expect(err).To(MatchError(ContainSubstring("in account first")))
	f.service = was
	f.Expect(open("first")).To(Succeed())
	f.Expect(f.ledger().Spec.Account).To(Equal("first"))
}
