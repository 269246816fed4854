package provider_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/provider"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/simulator"
)

var bootData = []byte("## template: jinja\n#cloud-config\nruncmd: []\n")

// seconds of the site's time, of which 2000 pass in one.
func seconds(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }

// grouped gives a cluster a network security group of its own.
func grouped(c *infrav1.NvidiaBMMCluster) {
	c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{Rules: []infrav1.SecurityRule{
		{Name: "all", Direction: infrav1.Ingress, Protocol: infrav1.ProtocolAll, Action: infrav1.Allow},
	}}
}

// instanceOf is the request for an instance that is created by hand in a cluster's network.
func instanceOf(c *infrav1.NvidiaBMMCluster, name string) bmm.InstanceCreateRequest {
	return bmm.InstanceCreateRequest{
		Name: name, TenantID: sim.DefaultTenantID, VPCID: c.Status.VPCID, InstanceTypeID: sim.DefaultInstanceTypeID,
		OperatingSystemID: bmmtest.OperatingSystemID, Interfaces: []bmm.InterfaceCreateRequest{{SubnetID: c.Status.Subnets[0].ID}},
	}
}

// The service checks whether a name is free, and writes some time later. Of two concurrent creates both get the name:
// each owner has to know its own.
func TestTrap_parallelCreatesMakeTwoOfOneName(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.Times.Create = seconds(16_000) })
	var owners []*infrav1.NvidiaBMMCluster
	for _, name := range []string{"one", "two"} {
		owners = append(owners, f.CreateCluster(name, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.Name = "net" }))
	}
	f.Eventually(func() int { return f.Called("createVpc") }).Should(Equal(2))
	f.Expect(f.Sim.State().VPCs).To(BeEmpty(), "both found the name free")
	for _, owner := range owners {
		f.UntilReady(owner)
	}
	f.Expect(f.Sim.State().VPCs).To(And(HaveLen(2), HaveEach(HaveField("Name", "net"))))
	f.Expect(owners[0].Status.VPCID).NotTo(Equal(owners[1].Status.VPCID))

	machine := f.CreateMachine("one", "worker-1", bootData)
	f.Eventually(func() int { return f.Called("createInstance") }).Should(Equal(1)) // it has found the name free
	made := make(chan string, 1)
	go func() {
		request := instanceOf(owners[0], "worker-1")
		request.InstanceTypeID, request.MachineID = "", "fm100ht000000000000000000000000000008" // others of the type would have to wait
		theirs, err := f.API().CreateInstance(t.Context(), request)
		if err != nil {
			made <- err.Error()
			return
		}
		made <- theirs.ID
	}()
	f.Eventually(func() int { return f.Called("createInstance") }).Should(Equal(2))
	f.Expect(f.Sim.State().Instances).To(BeEmpty(), "both found the name free")
	f.UntilReady(machine)
	theirs := <-made
	f.Expect(f.Sim.State().Instances).To(HaveLen(2))
	f.Expect(machine.Status.InstanceID).NotTo(Equal(theirs))

	f.Delete(machine)
	f.Delete(owners[1])
	f.UntilGone(machine)
	f.UntilGone(owners[1])
	f.Expect(f.Sim.State().Instances).To(ConsistOf(HaveField("ID", theirs)))
	f.Expect(f.Sim.State().VPCs).To(ConsistOf(HaveField("ID", owners[0].Status.VPCID)))
}

// The row of what a create makes is written up to 50 seconds after its client has gone.
func TestTrap_aCreateIsCommittedAfterItsClientIsGone(t *testing.T) {
	t.Parallel()
	f := bmmtest.StartPaced(t, bmmtest.Poll, 10*time.Second) // the test needn't wait for its end
	creates := []string{"createNetworkSecurityGroup", "createVpc", "createSubnet", "createInstance"}
	for _, operation := range creates {
		f.Fault(simulator.Fault{Operation: operation, Kind: simulator.FaultCommitLate, Hold: seconds(100), Delay: seconds(1000)})
	}
	cluster := f.CreateCluster("demo", grouped)
	machine := f.CreateMachine("demo", "worker-1", bootData)
	f.UntilReady(cluster)
	f.UntilProvisioned(machine)
	for _, operation := range creates {
		f.Expect(f.Called(operation)).To(Equal(1), operation)
	}
	f.Expect(machine.Spec.ProviderID).To(HaveSuffix(f.Sim.State().Instances[0].ID))
	f.Delete(machine)
	f.Delete(cluster)
	f.UntilGone(machine)
	f.UntilGone(cluster)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// Deletes are soft, and the ID is the primary key: the service refuses one that ever was.
func TestTrap_aVPCsIDIsNeverUsedTwice(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo")
	used := map[string]bool{}
	for range 3 {
		f.UntilReady(object)
		vpc := object.Status.VPCID
		f.Expect(used).NotTo(HaveKey(vpc))
		used[vpc] = true
		f.Expect(f.Sim.Vanish(object.Status.Subnets[0].ID)).To(Succeed())
		f.Expect(f.Sim.Vanish(vpc)).To(Succeed())
		f.Eventually(func(g Gomega) {
			g.Expect(f.Read(object)).To(Succeed())
			g.Expect(object.Status.VPCID).NotTo(Or(BeEmpty(), Equal(vpc)))
			g.Expect(f.Sim.State().Subnets).To(ConsistOf(HaveField("VPCID", object.Status.VPCID)))
		}).Should(Succeed())
	}
	f.Expect(f.Called("createVpc")).To(Equal(4), "none of which was refused")
}

// A subnet or a prefix has no labels, so its name says whose it is: what a lost answer made is found again, and one of the
// user's own isn't taken for it.
func TestTrap_subnetsAndPrefixesHaveNoLabels(t *testing.T) {
	t.Parallel()
	prefixes := func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkVirtualizationType = infrav1.FabricNativeNetworking
		c.Spec.Subnets, c.Spec.VPCPrefixes = nil, []infrav1.VPCPrefixSpec{{Name: "nodes", PrefixLength: ptr.To[int32](24)}}
	}
	for _, row := range []struct {
		operation string
		kind      bmm.NetworkVirtualizationType
		change    func(*infrav1.NvidiaBMMCluster)
		theirs    func(vpc string) sim.Object
		made      func(sim.State) int
	}{
		{"createSubnet", bmm.EthernetVirtualizer, func(*infrav1.NvidiaBMMCluster) {}, func(vpc string) sim.Object {
			return sim.Object{Kind: sim.KindSubnet, Request: bmm.SubnetCreateRequest{Name: "nodes", VPCID: vpc, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 24}}
		}, func(s sim.State) int { return len(s.Subnets) }},
		{"createVpcPrefix", bmm.FNN, prefixes, func(vpc string) sim.Object {
			return sim.Object{Kind: sim.KindVPCPrefix, Request: bmm.VPCPrefixCreateRequest{Name: "nodes", VPCID: vpc, IPBlockID: sim.DefaultIPBlockID, PrefixLength: 24}}
		}, func(s sim.State) int { return len(s.VPCPrefixes) }},
	} {
		t.Run(row.operation, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, func(w *sim.Config) { w.Sites[0].NativeNetworking = true })
			vpc := f.MakeVPC("users", row.kind)
			theirs := f.Make(row.theirs(vpc))
			before := f.Snapshot(vpc, theirs)
			f.Fault(simulator.Fault{Operation: row.operation, Kind: simulator.FaultLoseAnswer})
			object := f.CreateCluster("demo", row.change, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.ID = vpc })
			f.UntilReady(object)
			f.Expect(f.Called(row.operation)).To(Equal(1))
			f.Expect(row.made(f.Sim.State())).To(Equal(2))
			f.Delete(object)
			f.UntilGone(object)
			f.Expect(f.Snapshot(vpc, theirs)).To(Equal(before))
			f.Expect(f.Sim.State().Empty()).To(BeTrue())
		})
	}
}

// A machine that boots can read the ID of its instance, and not that of its site: the kubelet's provider ID has to get it
// through the bootstrap data.
func TestTrap_aBootingMachineIsNotToldItsSitesUUID(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	machine := f.CreateMachine("demo", "worker-1", bootData)
	f.UntilProvisioned(machine)
	booted := f.Rack.Started()[0]
	f.Expect(booted.Metadata).To(HaveKeyWithValue("instance-id", machine.Status.InstanceID))
	f.Expect(booted.Metadata).NotTo(ContainElement(ContainSubstring(sim.DefaultSiteID)))
	f.Expect(booted.UserData).To(Equal(bootData), "nor does the provider put it in")
	f.Expect(machine.Spec.ProviderID).To(Equal("nvidia-bmm://" + sim.DefaultSiteID + "/" + booted.Metadata["instance-id"]))
}

// A create blocks for 50 seconds while the site's agent is down, then fails and is rolled back. Nothing else waits
// meanwhile, and when the agent is back there is one of each.
func TestTrap_aSiteWhoseAgentIsDownHoldsUpNobody(t *testing.T) {
	t.Parallel()
	const far, blocked = "517e0000-0000-4000-8000-000000000002", 6 // more than there are workers, or turns
	NewWithT(t).Expect(bmm.DefaultTimeout).To(BeNumerically(">", sim.DefaultTimes().SiteTimeout.Duration+10*time.Second))
	f := bmmtest.StartSite(t, func(w *sim.Config) {
		w.Sites = append(w.Sites, sim.Site{ID: far, Name: "site-2"})
		w.IPBlocks = append(w.IPBlocks, sim.IPBlock{
			ID: "1b10c000-0000-4000-8000-000000000002", Name: "far", SiteID: far, TenantID: sim.DefaultTenantID,
			Prefix: netip.MustParseAddr("127.99.0.0"), PrefixLength: 16,
		})
		w.Times.SiteTimeout = seconds(50_000) // 25 seconds here: longer than the near one takes on a loaded machine
	})
	f.Run(bmmtest.Poll, bmmtest.Settle, func(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, options controller.Options) error {
		engine.Creates = &creates.Pool{Limit: 3, Patience: 100 * time.Millisecond} // as by default
		return provider.Setup(ctx, mgr, engine, bmm.Paced(bmmtest.Poll, 0, 0, egress.Policy{Loopback: true}), options)
	})
	f.Expect(f.Sim.SetSite(far, sim.SiteAgentDown)).To(Succeed())
	var held []*infrav1.NvidiaBMMCluster
	for n := range blocked {
		held = append(held, f.CreateCluster(fmt.Sprintf("far-%d", n), func(c *infrav1.NvidiaBMMCluster) { c.Spec.SiteRef.Name = "site-2" }))
	}
	f.Eventually(func() int { return f.Called("createVpc") }).Should(Equal(2))
	for _, object := range held {
		f.Eventually(func() string { return f.Message(object, infrav1.VPCReadyCondition) }).Should(Or(
			Equal("the service is still creating the VPC"), ContainSubstring("concurrent create limit reached; queued")))
	}
	near := f.CreateCluster("near")
	f.UntilReady(near)
	f.Expect(f.Called("createVpc")).To(Equal(3), "none of the others was answered meanwhile, or had the last turn")
	f.Expect(f.Sim.SetSite(far, sim.SiteOnline)).To(Succeed())
	for _, object := range held {
		f.UntilReady(object)
	}
	f.Expect(f.Sim.State().VPCs).To(HaveLen(blocked + 1))
}

// An instance that is being terminated owns its name until it is gone.
func TestTrap_aTerminatingInstanceOwnsItsName(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.Times.InstanceDelete = seconds(40_000) })
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	dying, err := f.API().CreateInstance(t.Context(), instanceOf(cluster, "worker-1"))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.API().DeleteInstance(t.Context(), sim.DefaultSiteID, dying.ID)).To(Succeed())
	machine := f.CreateMachine("demo", "worker-1", bootData)
	f.UntilReason(machine, infrav1.InstanceProvisionedCondition, "Conflict", dying.ID)
	f.Expect(machine.Spec.ProviderID).To(BeEmpty())
	f.UntilReady(machine)
	f.Expect(machine.Status.InstanceID).NotTo(Equal(dying.ID))
}

// The status of an instance may be minutes old. What isn't ready yet isn't made again, and isn't given up.
func TestTrap_theStatusOfAnInstanceLags(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	machine := f.CreateMachine("demo", "worker-1", bootData)
	f.Eventually(func(g Gomega) {
		g.Expect(f.Sim.State().Instances).To(HaveLen(1))
		g.Expect(f.Sim.SetStatus(sim.Status{ID: f.Sim.State().Instances[0].ID, Status: "Pending"})).To(Succeed())
	}).Should(Succeed())
	f.Eventually(f.Rack.Started).Should(HaveLen(1), "it runs")
	lists := f.Called("listInstances")
	f.Eventually(func() int { return f.Called("listInstances") }).Should(BeNumerically(">", lists+20))
	f.UntilReason(machine, infrav1.InstanceProvisionedCondition, "Waiting", "is Pending")
	f.Expect(machine.Status.Initialization.Provisioned).To(BeNil())
	f.Expect(f.Sim.SetStatus(sim.Status{ID: machine.Status.InstanceID})).To(Succeed())
	f.UntilReady(machine)
	f.Expect(f.Called("createInstance")).To(Equal(1))
	f.Expect(f.Called("deleteInstance")).To(BeZero())
}
