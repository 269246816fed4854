package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// The user's own, which the spec has named since before it got a copy of our tag, is all that the ledger has. The first search of the deletion
// fails, the second one doesn't: that one is made when the user's own has left the entries and isn't yet in what was released.
func TestDelete_leavesTheUsersOwnWhenTheFirstSearchFails(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	own := f.put("own") // id-1
	f.names(naming{own: "own"})
	f.Expect(f.ledger().Entry("own")).To(HaveField("Foreign", true))
	own.tag = graph.Tag{Owner: f.ledger().Spec.OwnerID, Key: "group", Token: "copied"}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	failed := false
	f.service.before = func(call string) error {
		if call == "find" && !failed {
			failed = true
			return &fault.Error{Class: fault.Transient, Op: "find", Err: errors.New("503")}
		}
		return nil
	}
	_, done := f.deletes()
	f.Expect(failed).To(BeTrue())
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.calls)
	f.Expect(done).To(BeTrue())
}
