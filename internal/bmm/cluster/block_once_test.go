package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/simulator"
)

// A cluster makes its own block. The IP block of the allocation is used, and stays so.
func TestAllocation_blockIsBoundOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]*simulator.Fault{"answered": nil, "adopted": {Operation: "createAllocation", Kind: simulator.FaultLoseAnswer}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, bare)
			if fault != nil {
				f.Fault(*fault)
			}
			object := f.CreateCluster("demo", ownBlock)
			f.UntilReady(object)
			f.Expect(f.Events(object, "Waiting")).NotTo(ContainElement(ContainSubstring("doesn't ask for")))
			t.Log(f.Events(object, "Waiting"), f.Ledger(object).Entry("ipblock"))
		})
	}
}
