package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// What was deleted outside Bedplate is made again, with what was in it.
func TestCluster_makesAgainWhatWasDeletedOutside(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]sim.Kind{
		"VPC": {sim.KindLoadBalancer, sim.KindSubnet, sim.KindVPC}, "gateway": {sim.KindTransitGateway}, "instances": {sim.KindInstance},
		"parts": {sim.KindConnection, sim.KindDHCPServer, sim.KindBucket, sim.KindResourceKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := powervstest.Start(t)
			c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
				c.Spec.Ignition = &infrav1.Ignition{}
				c.Spec.CosInstance = &infrav1.CosInstance{Name: "demo-cos", BucketName: "demo-boot", BucketRegion: powervstest.Region}
			})
			f.UntilReady(c)
			before := f.Items()
			for _, kind := range kinds {
				for _, item := range f.Cloud.State()[kind] {
					f.Expect(f.Cloud.Vanish(item.ID)).To(Succeed())
				}
			}
			f.Eventually(f.Items).Should(HaveLen(len(before)))
			f.UntilReady(c)
			f.Expect(f.Items()).To(HaveLen(len(before)))
			f.Delete(c)
			f.UntilGone(c)
			f.Expect(f.Cloud.State().Empty()).To(BeTrue(), "%+v", f.Cloud.State())
		})
	}
}
