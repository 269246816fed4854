package powervstest

import (
	"time"

	. "github.com/onsi/gomega"

	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// restPolling is short: in worlds of the crash suite all is at rest at once.
const restPolling = time.Millisecond

// Own are the IDs of what is the user's own.
type Own struct{ Workspace, Network, VPC, Subnet, Group, Balancer, Gateway, COS string }

// OwnBucket is the bucket of the user's own.
const OwnBucket = "own-bucket"

// MakeOwn makes one of each of the user's own: a workspace ("own-workspace") with the network DHCPSERVERown_Private, a VPC ("own-vpc")
// with a subnet, a security group and a load balancer ("own-subnet", "own-group", "own-balancer"), a transit gateway ("own-gateway"), and
// an instance of Object Storage ("own-cos") with a bucket.
func (f *Fixture) MakeOwn() Own {
	f.t.Helper()
	api, ctx, o := f.API(), f.t.Context(), Own{}
	instance := func(name string, plan ibm.Plan, target string) string {
		made, err := api.CreateInstance(ctx, ibm.InstanceRequest{
			Name: name, Plan: plan, Target: target, ResourceGroupID: sim.DefaultResourceGroupID,
		})
		f.Expect(err).NotTo(HaveOccurred())
		return made.ID
	}
	o.Workspace = instance("own-workspace", ibm.PlanPowerVS, sim.DefaultZone)
	o.COS = instance("own-cos", ibm.PlanCOS, ibm.TargetGlobal)
	vpc, err := api.CreateVPC(ctx, Region, "own-vpc", sim.DefaultResourceGroupID)
	f.Expect(err).NotTo(HaveOccurred())
	gateway, err := api.CreateTransitGateway(ctx, ibm.TransitGatewayRequest{
		Name: "own-gateway", Location: Region, ResourceGroupID: sim.DefaultResourceGroupID,
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.UntilAtRest()
	f.Expect(api.CreateBucket(ctx, ibm.Bucket{InstanceID: o.COS, Region: Region, Name: OwnBucket})).To(Succeed())
	server, err := api.CreateDHCPServer(ctx, ibm.Workspace{Zone: sim.DefaultZone, ID: o.Workspace}, ibm.DHCPServerRequest{Name: "own"})
	f.Expect(err).NotTo(HaveOccurred())
	subnet, err := api.CreateSubnet(ctx, Region, ibm.SubnetRequest{
		Name: "own-subnet", VPCID: vpc.ID, Zone: Region + "-1", ResourceGroupID: sim.DefaultResourceGroupID,
	})
	f.Expect(err).NotTo(HaveOccurred())
	group, err := api.CreateSecurityGroup(ctx, Region, vpc.ID, "own-group", sim.DefaultResourceGroupID, nil)
	f.Expect(err).NotTo(HaveOccurred())
	f.UntilAtRest()
	balancer, err := api.CreateLoadBalancer(ctx, Region, ibm.LoadBalancerRequest{
		Name: "own-balancer", Public: true, ResourceGroupID: sim.DefaultResourceGroupID, SubnetIDs: []string{subnet.ID},
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.UntilAtRest()
	o.Network, o.VPC, o.Subnet, o.Group, o.Balancer, o.Gateway = server.Network.ID, vpc.ID, subnet.ID, group.ID, balancer.ID, gateway.ID
	return o
}

// UntilAtRest waits until nothing in the account is in transition.
func (f *Fixture) UntilAtRest() {
	f.t.Helper()
	f.Eventually(f.Moving).WithPolling(restPolling).Should(BeEmpty())
}

// Moving is what is going to be in another status by itself.
func (f *Fixture) Moving() (moving []sim.Item) {
	for _, items := range f.Cloud.State() {
		for _, item := range items {
			if item.Moving {
				moving = append(moving, item)
			}
		}
	}
	return moving
}

// Items are all that there is, by ID, but for what is only a record.
func (f *Fixture) Items() map[string]sim.Item {
	all := map[string]sim.Item{}
	for _, items := range f.Cloud.State() {
		for _, item := range items {
			if !item.Record {
				all[item.ID] = item
			}
		}
	}
	return all
}
