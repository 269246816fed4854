package graph

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

// What may still appear is looked for where it was attempted.
func TestDecide_keepsTheChoicesOfAnAttemptThatMayStillAppear(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	pending := &entry{Kind: "thing", Condition: "Ready", State: statePending, Token: "2", At: stampOf(1), Params: map[string]string{"zone": "dal10"}}
	taken := attempt{known: true, err: &fault.Error{Class: fault.Conflict, Err: errTaken}}
	d := decide(w, pending, sight{began: epoch, attempt: taken, listed: true}, epoch)
	g.Expect(d.verb).To(Equal(refuse))
	g.Expect(d.entry.Token).To(Equal("2"))
	g.Expect(d.entry.Params).To(HaveKeyWithValue("zone", "dal10"))
}
