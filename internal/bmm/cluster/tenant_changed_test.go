package cluster_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// The site was found with the credentials of the tenant that the spec named; before there is a VPC it names another one.
func TestTenant_isCheckedAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.Fault(simulator.Fault{Operation: "createVpc", Times: -1, Kind: simulator.FaultStatus, Status: 503})
	object := f.CreateCluster("demo")
	f.UntilReason(object, infrav1.VPCReadyCondition, "Transient", "503")
	f.Expect(object.Status.SiteID).NotTo(BeEmpty())
	before := object.Spec.TenantID
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.TenantID = "05000000-0000-4000-8000-00000000000b" })
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Invalid", "are those of tenant "+before+", and tenantID names")
	f.Sim.ClearFaults()
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.TenantID = before })
	f.UntilReady(object)
}

// The VPC is being created, and the status doesn't show it, when the spec names another tenant. The way back stays open once it does.
func TestTenant_changedWhileTheVPCIsCreatedCanBePutBack(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.Speed, w.Times.Create.Duration = 30, 300*time.Second })
	object := f.CreateCluster("demo")
	f.Eventually(func() int { return f.Called("createVpc") }).Should(Equal(1))
	before := object.Spec.TenantID
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.TenantID = "05000000-0000-4000-8000-00000000000b" })
	f.Expect(object.Status.VPCID).To(BeEmpty())
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Invalid", "are those of tenant "+before+", and tenantID names")
	f.Eventually(func() string { f.Expect(f.Read(object)).To(Succeed()); return object.Status.VPCID }).ShouldNot(BeEmpty())
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.TenantID = before })
	f.UntilReady(object)
	f.Expect(f.Called("createVpc")).To(Equal(1))
}
