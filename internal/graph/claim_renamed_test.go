package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// The first name was refused. The search is for the name in the spec then.
func TestClaim_byAnotherNameAfterARefusal(t *testing.T) {
	t.Parallel()
	for name, also := range map[string]string{"uses the one of that name": "", "and not the one of the name before": "first"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.service.failing("create lonely", &fault.Error{Class: fault.Quota, Err: errors.New("nothing left")})
			f.Expect(f.round(f.owner(), graph.UseOrCreate("first"))).To(Succeed())
			f.service.before = nil
			if also != "" {
				f.put(also)
			}
			theirs := f.put("second")
			f.clock.Step(settle + 10*poll)
			for range 3 {
				f.Expect(f.round(f.owner(), graph.UseOrCreate("second"))).To(Succeed())
			}
			f.Expect(f.ledger().Entry("lonely")).To(And(HaveField("ID", theirs.id), HaveField("Foreign", true)))
			f.Expect(f.service.called("create lonely")).To(Equal(1))
		})
	}
}
