package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
)

// What the spec names by its ID has to fit the rest: the endpoint can't be changed once it is set.
func TestLoadBalancer_ofAnotherVPCIsNotUsed(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	own := f.MakeOwn()
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{ID: own.Balancer}}
	})
	f.UntilReason(c, infrav1.LoadBalancerReadyCondition, "Invalid", "correct spec.loadBalancers")
	f.Expect(c.Spec.ControlPlaneEndpoint.Host).To(BeEmpty())
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.LoadBalancers = nil })
	f.UntilReady(c)
	f.Expect(c.Status.LoadBalancers).To(HaveLen(1))
	_, err := f.API().LoadBalancer(t.Context(), powervstest.Region, own.Balancer)
	f.Expect(err).NotTo(HaveOccurred())
}
