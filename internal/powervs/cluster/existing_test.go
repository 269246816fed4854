package cluster_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func byName(name string) *infrav1.IBMPowerVSResourceReference {
	return &infrav1.IBMPowerVSResourceReference{Name: name}
}

func byID(id string) *infrav1.IBMPowerVSResourceReference {
	return &infrav1.IBMPowerVSResourceReference{ID: id}
}

// plain is a cluster for which nothing is created, in the zone of its workspace.
func plain(change func(*infrav1.IBMPowerVSClusterSpec)) func(*infrav1.IBMPowerVSCluster) {
	return func(c *infrav1.IBMPowerVSCluster) {
		c.Annotations = nil
		c.Spec = infrav1.IBMPowerVSClusterSpec{
			Authentication: c.Spec.Authentication, ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.168.200.250", Port: 6443},
		}
		change(&c.Spec)
	}
}

func TestExisting_workspaceAndNetworkAreUsedAndNothingIsMade(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	before := f.Cloud.State()
	for name, change := range map[string]func(*infrav1.IBMPowerVSClusterSpec){
		"by-id": func(s *infrav1.IBMPowerVSClusterSpec) {
			s.Network = &infrav1.IBMPowerVSResourceReference{ID: powervstest.NetworkID}
			s.ServiceInstanceID = powervstest.WorkspaceID //nolint:staticcheck // older manifests have it
		},
		"by-name": func(s *infrav1.IBMPowerVSClusterSpec) {
			s.ServiceInstance, s.Network, s.Zone = byName("shared"), byName("nodes"), sim.DefaultZone
		},
		"by-name-in-any-zone": func(s *infrav1.IBMPowerVSClusterSpec) {
			s.ServiceInstance, s.Network = byName("shared"), byName("nodes")
		},
	} {
		c := f.CreateCluster(name, plain(change))
		f.UntilReady(c)
		f.Expect(c.Status.ServiceInstance).To(Equal(&infrav1.ResourceReference{ID: powervstest.WorkspaceID}), name)
		f.Expect(c.Status.Network).To(Equal(&infrav1.ResourceReference{ID: powervstest.NetworkID}), name)
		f.Expect(c.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), name)
		f.Delete(c)
		f.UntilGone(c)
	}
	f.Expect(f.Cloud.State()).To(Equal(before))
}

func TestExisting_whatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	for name, row := range map[string]struct {
		change                     func(*infrav1.IBMPowerVSClusterSpec)
		condition, reason, message string
	}{
		"workspace": {func(s *infrav1.IBMPowerVSClusterSpec) { s.ServiceInstance = byName("none") },
			infrav1.WorkspaceReadyCondition, "Invalid", "correct spec.serviceInstance.name"},
		"workspace-id": {func(s *infrav1.IBMPowerVSClusterSpec) {
			s.ServiceInstance = byID("b0000000-0000-4000-8000-00000000dead")
		},
			infrav1.WorkspaceReadyCondition, "NotFound", "correct spec.serviceInstance.id"},
		"other-zone": {func(s *infrav1.IBMPowerVSClusterSpec) {
			s.ServiceInstance, s.Zone = byID(powervstest.WorkspaceID), "dal12"
		},
			infrav1.WorkspaceReadyCondition, "Invalid", "is in zone dal10, and spec.zone says dal12"},
		"network": {func(s *infrav1.IBMPowerVSClusterSpec) {
			s.ServiceInstance, s.Network = byID(powervstest.WorkspaceID), byName("none")
		},
			infrav1.NetworkReadyCondition, "Invalid", "correct spec.network.name"},
		"endpoint": {func(s *infrav1.IBMPowerVSClusterSpec) {
			s.ServiceInstance, s.ControlPlaneEndpoint = byID(powervstest.WorkspaceID), infrav1.APIEndpoint{}
		}, infrav1.LoadBalancerReadyCondition, "NoEndpoint", "set spec.controlPlaneEndpoint"},
	} {
		c := f.CreateCluster(name, plain(row.change))
		f.UntilReason(c, row.condition, row.reason, row.message)
	}
}

// The zones of the VPC's region are asked for once. While they can't be, nothing is let go.
func TestZones_areAskedForOnce(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	own := f.MakeOwn()
	heal := f.Refuse(http.StatusInternalServerError, "vpc.listRegionZones")
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPC.ID = own.VPC })
	f.UntilReason(c, infrav1.VPCReadyCondition, "Transient", "")
	f.UntilReason(c, infrav1.VPCSubnetReadyCondition, "Waiting", "")
	heal()
	f.UntilReady(c)
	f.Expect(f.Ledger(c).Entry("vpc").Params).To(HaveKeyWithValue("zones", "us-south-1,us-south-2,us-south-3"))
	asked := f.Called("vpc.listRegionZones")
	f.Refuse(http.StatusInternalServerError, "vpc.listRegionZones")
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "one"}, {Name: "two"}}
	})
	f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ConsistOf("own-subnet", "one", "two"))
	f.UntilReady(c)
	f.Expect(f.Called("vpc.listRegionZones")).To(Equal(asked))
}

// The load balancer goes where the subnets are: one that leaves the spec could never be deleted otherwise.
func TestSubnets_leaveWithTheLoadBalancerInThem(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "one"}, {Name: "two"}}
	})
	f.UntilReady(c)
	balancer := c.Status.LoadBalancers["demo-loadbalancer"].ID
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "two"}, {Name: "three"}}
	})
	f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ConsistOf("two", "three"))
	f.UntilReady(c)
	b, err := f.API().LoadBalancer(t.Context(), powervstest.Region, balancer)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(b.Subnets).To(ConsistOf(HaveField("Name", "two"), HaveField("Name", "three")))
}

// A subnet that leaves is deleted at once, unless a load balancer that stays is in all subnets: another one may get its range.
func TestSubnets_getTheRangeOfOneThatLeaves(t *testing.T) {
	t.Parallel()
	front := infrav1.VPCLoadBalancerSpec{Name: "front", Subnets: []infrav1.VPCResource{{Name: "one"}}}
	type balancers []infrav1.VPCLoadBalancerSpec
	for name, row := range map[string]struct{ had, has balancers }{
		"which no load balancer is in":    {balancers{front}, balancers{front}},
		"whose load balancer leaves, too": {balancers{{Name: "all"}}, balancers{{Name: "other"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := powervstest.Start(t)
			one := infrav1.Subnet{Name: "one", Zone: "us-south-1", Ipv4CidrBlock: "10.240.1.0/24"}
			two := infrav1.Subnet{Name: "two", Zone: "us-south-1", Ipv4CidrBlock: "10.240.2.0/24"}
			c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
				c.Spec.VPCSubnets, c.Spec.LoadBalancers = []infrav1.Subnet{one, two}, row.had
			})
			f.UntilReady(c)
			two.Name = "three"
			powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
				c.Spec.VPCSubnets, c.Spec.LoadBalancers = []infrav1.Subnet{one, two}, row.has
			})
			f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ConsistOf("one", "three"))
			f.UntilReady(c)
		})
	}
}

// The range of a default subnet is known to the service only. The load balancer, which is in all subnets, goes where there is one already.
func TestSubnets_waitForTheRangeOfOneThatTheLoadBalancerLeaves(t *testing.T) {
	t.Parallel()
	ranged, free := infrav1.Subnet{Name: "ranged", Zone: "us-south-1", Ipv4CidrBlock: "10.240.0.128/25"}, infrav1.Subnet{Name: "free"}
	for name, subnets := range map[string][]infrav1.Subnet{"at once": {ranged, free}, "when there is another one": {ranged}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := powervstest.Start(t)
			c := f.CreateCluster("demo")
			f.UntilReady(c)
			balancer := c.Status.LoadBalancers["demo-loadbalancer"].ID
			powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = subnets })
			if len(subnets) == 1 {
				f.UntilReason(c, infrav1.VPCSubnetReadyCondition, "Deleting", "subnet demo-vpcsubnet-us-south-1 has some of the addresses "+
					"10.240.0.128/25 until it is deleted, as it has left the spec. A load balancer that names no subnets leaves it when there is "+
					"another subnet: if there is none, add one to spec.vpcSubnets that has other addresses")
				powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = []infrav1.Subnet{ranged, free} })
			}
			f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ConsistOf("free", "ranged"))
			f.UntilReady(c)
			b, err := f.API().LoadBalancer(t.Context(), powervstest.Region, balancer)
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(b.Subnets).To(ConsistOf(HaveField("Name", "free"), HaveField("Name", "ranged")))
		})
	}
}

// A load balancer of the user's own is where the user has put it, and keeps no subnet of the cluster.
func TestSubnets_getTheRangeOfOneThatLeavesBesideALoadBalancerOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	own := f.MakeOwn()
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPC.ID, c.Spec.LoadBalancers = own.VPC, []infrav1.VPCLoadBalancerSpec{{ID: own.Balancer}}
	})
	f.UntilReady(c)
	old, err := f.API().Subnet(t.Context(), powervstest.Region, c.Status.VPCSubnet["demo-vpcsubnet-us-south-1"].ID)
	f.Expect(err).NotTo(HaveOccurred())
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "ranged", Zone: "us-south-1", Ipv4CidrBlock: old.CIDR}, {Name: "free"}}
	})
	f.Eventually(func() []string { return f.Made(sim.KindSubnet) }).Should(ConsistOf("own-subnet", "free", "ranged"))
	f.UntilReady(c)
}
