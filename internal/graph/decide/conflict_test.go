package decide

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
)

// What may still appear is searched for where it was attempted.
func TestDecide_keepsTheChoicesOfAnAttemptThatMayStillAppear(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	pending := &ledgerv1.Entry{Kind: "thing", Condition: "Ready", State: ledgerv1.Pending, Token: "2", At: stampOf(1), Params: map[string]string{"zone": "dal10"}}
	taken := Attempt{Known: true, Err: &fault.Error{Class: fault.Conflict, Err: errTaken}}
	d := Next(w, pending, Sight{Began: epoch, Attempt: taken, Listed: true}, epoch)
	g.Expect(d.Verb).To(Equal(Refuse))
	g.Expect(d.Entry.Token).To(Equal("2"))
	g.Expect(d.Entry.Params).To(HaveKeyWithValue("zone", "dal10"))
}
