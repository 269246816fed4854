package cluster_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// Lists leave out what has failed: an attempt that nothing is known of has to find it all the same.
func TestWorkspace_thatHasFailedAfterALostAnswerIsFoundAndDeleted(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	f.Expect(f.Cloud.SetOutcome(sim.Outcome{Kind: sim.KindInstance, Status: "failed", Message: "no capacity"})).To(Succeed())
	f.Fault(simulator.Fault{
		Operation: "resourceController.createResourceInstance", Kind: simulator.FaultStatusAfter, Status: http.StatusInternalServerError,
	})
	c := f.CreateCluster("demo")
	f.UntilReason(c, infrav1.WorkspaceReadyCondition, "Failed", "delete it to get another one")
	f.Expect(f.Called("resourcecontroller.createResourceInstance")).To(Equal(1))
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.Cloud.State().Empty()).To(BeTrue(), "%+v", f.Cloud.State())
}
