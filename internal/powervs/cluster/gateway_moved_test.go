package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// A gateway whose routing the spec leaves open has that which the zone asked for when it was made. The zone may change when the workspace
// is missing.
func TestGateway_staysWhenTheClusterGetsAWorkspaceInAnotherRegion(t *testing.T) {
	t.Parallel()
	const elsewhere = "wdc06"
	f := powervstest.Start(t, func(c *sim.Config) {
		c.Zones = append(c.Zones, sim.Zone{
			Name: elsewhere, Region: "us-east", Capabilities: map[string]bool{sim.EdgeRouter: true}, SystemTypes: c.Zones[0].SystemTypes,
		})
		c.Regions = append(sim.DefaultRegions(), sim.Region{Name: "us-east", Zones: []string{"us-east-1"}})
	})
	workspace := func(zone string) *infrav1.IBMPowerVSResourceReference {
		made, err := f.API().CreateInstance(t.Context(), ibm.InstanceRequest{
			Name: "own-" + zone, Plan: ibm.PlanPowerVS, Target: zone, ResourceGroupID: sim.DefaultResourceGroupID,
		})
		f.Expect(err).NotTo(HaveOccurred())
		f.UntilAtRest()
		return byID(made.ID)
	}
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.ServiceInstance, c.Spec.Zone = workspace(elsewhere), elsewhere
	})
	f.UntilReady(c)
	for _, server := range f.Cloud.State()[sim.KindDHCPServer] {
		f.Expect(f.Cloud.Vanish(server.ID)).To(Succeed())
	}
	f.Expect(f.Cloud.Vanish(c.Spec.ServiceInstance.ID)).To(Succeed())
	f.UntilReason(c, infrav1.WorkspaceReadyCondition, "Missing", "does not exist")
	another := workspace(sim.DefaultZone)
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.ServiceInstance, c.Spec.Zone = another, sim.DefaultZone })
	f.UntilReady(c)
}
