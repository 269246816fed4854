package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestCluster_everythingIsCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo")
	f.UntilReady(c)
	made := And(HaveField("ID", Not(BeEmpty())), HaveField("ControllerCreated", true))
	f.Expect(c.Status.ResourceGroup).To(Equal(&infrav1.ResourceReference{ID: sim.DefaultResourceGroupID}))
	f.Expect(c.Status.ServiceInstance).To(made)
	f.Expect(c.Status.Network).To(made)
	f.Expect(c.Status.DHCPServer).To(made)
	f.Expect(c.Status.VPC).To(made)
	f.Expect(c.Status.VPCSubnet).To(And(HaveLen(3), HaveKey("demo-vpcsubnet-us-south-1")))
	f.Expect(c.Status.TransitGateway).To(And(made, HaveField("VPCConnection", made), HaveField("PowerVSConnection", made)))
	f.Expect(c.Status.LoadBalancers).To(HaveKeyWithValue("demo-loadbalancer", And(
		HaveField("State", "active"), HaveField("Hostname", "127.200.0.1"), made)))
	f.Expect(c.Status.COSInstance).To(BeNil())
	f.Expect(c.Spec.ControlPlaneEndpoint).To(Equal(infrav1.APIEndpoint{Host: "127.200.0.1", Port: 6443}))
	f.Expect(c.Status.Ready).To(BeTrue())
	f.Expect(c.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	for kind, name := range map[sim.Kind]string{
		sim.KindInstance: "demo-serviceInstance", sim.KindNetwork: "DHCPSERVERdemo_Private", sim.KindVPC: "demo-vpc",
		sim.KindTransitGateway: "demo-transitgateway", sim.KindLoadBalancer: "demo-loadbalancer",
	} {
		f.Expect(f.Made(kind)).To(Equal([]string{name}))
	}

	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.Cloud.State().Empty()).To(BeTrue(), "%+v", f.Cloud.State())
}
