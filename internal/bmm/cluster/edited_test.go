package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// A ledger that was edited by hand names a VPC of the user's own.
func TestLedger_thatNamesTheUsersVPCDoesNotMakeItOurs(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	users := f.MakeVPC("users", bmm.EthernetVirtualizer)
	before := f.Snapshot(users)
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	f.Eventually(func() error {
		edited := f.Ledger(cluster)
		edited.Entry("vpc").ID = users
		return f.Client.Update(t.Context(), edited)
	}).Should(Succeed())
	f.Consistently(func() string { return f.Snapshot(users) }, 30*bmmtest.Poll).Should(Equal(before))
}
