package cluster_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/managertest"
)

// withGroup gives a cluster a group of its own.
func withGroup(c *infrav1.NvidiaBMMCluster) {
	c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{
		StatefulEgress: ptr.To(true),
		Labels:         infrav1.ResourceLabels{"team": "a"},
		Rules: []infrav1.SecurityRule{
			{Name: "ssh", Direction: infrav1.Ingress, Protocol: infrav1.ProtocolTCP, PortRange: "22", SourceCIDR: "10.0.0.0/8", Action: infrav1.Allow},
			{Name: "out", Direction: infrav1.Egress, Protocol: infrav1.ProtocolAll, Action: infrav1.Allow},
		},
	}
}

// The strict simulator refuses to delete a group that is attached, and a VPC with something in it: each is asked once.
func TestGroup_isMadeAsTheSpecSaysAndGoesAfterItsVPC(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", withGroup)
	f.UntilReady(object)

	state := f.Sim.State()
	f.Expect(state.NetworkSecurityGroups).To(HaveLen(1))
	group := state.NetworkSecurityGroups[0]
	f.Expect(group.Name).To(Equal("demo"))
	f.Expect(group.StatefulEgress).To(BeTrue())
	f.Expect(group.Labels).To(HaveKeyWithValue("team", "a"))
	deny := bmm.NetworkSecurityGroupRule{
		Protocol: "ANY", Action: "DENY", Priority: 60000, SourcePrefix: "0.0.0.0/0", DestinationPrefix: "0.0.0.0/0",
	}
	denyIn, denyOut := deny, deny
	denyIn.Name, denyIn.Direction = "bedplate-deny-ingress", "INGRESS"
	denyOut.Name, denyOut.Direction = "bedplate-deny-egress", "EGRESS"
	f.Expect(group.Rules).To(Equal([]bmm.NetworkSecurityGroupRule{
		{
			Name: "ssh", Direction: "INGRESS", Protocol: "TCP", Action: "PERMIT", Priority: 100,
			SourcePrefix: "10.0.0.0/8", DestinationPrefix: "0.0.0.0/0", DestinationPortRange: "22-22",
		},
		{
			Name: "out", Direction: "EGRESS", Protocol: "ANY", Action: "PERMIT", Priority: 200,
			SourcePrefix: "0.0.0.0/0", DestinationPrefix: "0.0.0.0/0",
		}, denyIn, denyOut,
	}))
	f.Expect(object.Status.NetworkSecurityGroupID).To(Equal(group.ID))
	f.Expect(state.VPCs[0].NetworkSecurityGroupID).To(Equal(group.ID))

	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
	for _, deletion := range []string{"deleteSubnet", "deleteVpc", "deleteNetworkSecurityGroup"} {
		f.Expect(f.Called(deletion)).To(Equal(1), "%s isn't asked for before its time", deletion)
	}
}

// No machine is ever without the group: there is no VPC before it, and no subnet in a VPC without it.
func TestGroup_isAttachedToTheVPCBeforeThereIsAnySubnet(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	heal := f.Refuse(http.StatusPreconditionFailed, "createNetworkSecurityGroup")
	object := f.CreateCluster("demo", withGroup)
	f.UntilReason(object, infrav1.NSGReadyCondition, "Busy", "")
	f.UntilReason(object, infrav1.VPCReadyCondition, "Waiting", "waits for group")
	f.Expect(f.Called("createVpc")).To(BeZero())

	heal()
	f.Refuse(http.StatusPreconditionFailed, "createSubnet")
	f.UntilReason(object, infrav1.SubnetsReadyCondition, "Busy", "")
	f.Expect(f.Sim.State().VPCs).To(ConsistOf(HaveField("NetworkSecurityGroupID", object.Status.NetworkSecurityGroupID)))
	f.Expect(f.Called("updateVpc")).To(BeZero(), "it never was without")
	f.Sim.ClearFaults()
	f.UntilReady(object)
}

// slowInventory is a site of which no inventory comes while a test runs.
func slowInventory(w *sim.Config) { w.Times.Inventory.Duration = 1000 * time.Hour }

// The site has a group's rules as soon as its POST is answered; that the service says Pending until the next inventory is no
// reason to wait.
func TestGroup_thatIsPendingHoldsNothingUp(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, slowInventory)
	object := f.CreateCluster("demo", withGroup)
	f.UntilTrue(object, infrav1.SubnetsReadyCondition)
	f.Expect(object.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	group := f.Sim.State().NetworkSecurityGroups[0].ID
	f.Expect(f.Sim.State().Enforced).To(Equal(map[string]string{object.Status.VPCID: group}))
	f.Expect(f.Called("updateVpc")).To(BeZero(), "it never was without")
	f.UntilReason(object, infrav1.NSGReadyCondition, "Pending", "("+group+") is Pending")
	f.UntilReason(object, infrav1.ReadyCondition, "Pending", "NSGReady: ")

	f.Expect(f.Sim.SetStatus(sim.Status{ID: group, Status: "Ready"})).To(Succeed())
	f.UntilReady(object)
}

func TestGroup_inErrorStopsTheCluster(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, slowInventory)
	heal := f.Refuse(http.StatusPreconditionFailed, "createVpc")
	object := f.CreateCluster("demo", withGroup)
	f.UntilReason(object, infrav1.VPCReadyCondition, "Busy", "")
	group := f.Sim.State().NetworkSecurityGroups[0].ID
	f.Expect(f.Sim.SetStatus(sim.Status{ID: group, Status: "Error"})).To(Succeed())
	f.UntilReason(object, infrav1.NSGReadyCondition, "Failed", "("+group+") as Error: ask the site's operator")
	f.UntilReason(object, infrav1.ReadyCondition, "Failed", "NSGReady: ")
	f.UntilReason(object, infrav1.VPCReadyCondition, "Waiting", "waits for group")
	heal()
	looks := f.Called("getNetworkSecurityGroup")
	f.Eventually(func() int { return f.Called("getNetworkSecurityGroup") }).Should(BeNumerically(">", looks+1))
	f.Expect(f.Sim.State().VPCs).To(BeEmpty())
	f.Expect(object.Status.Initialization.Provisioned).To(BeNil())

	f.Expect(f.Sim.SetStatus(sim.Status{ID: group, Status: "Ready"})).To(Succeed())
	f.UntilReady(object)
}

// lateInventory is a site whose inventories arrive so late that each change is overtaken by an older one.
func lateInventory(w *sim.Config) { w.Times.InventoryDelay = w.Times.Inventory }

// The service corrects a VPC's metadata because of an inventory that is older than a change of ours, and detaches the group
// at the site by that. The API keeps showing it.
func TestGroup_thatAnOldInventoryDetachesIsAttachedAgain(t *testing.T) {
	t.Parallel()
	relabel := func(f *bmmtest.Fixture, c *infrav1.NvidiaBMMCluster) {
		bmmtest.Change(f, c, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.Labels = infrav1.ResourceLabels{"team": "b"} })
	}
	for _, row := range []struct {
		name    string
		patches int
		change  func(*bmmtest.Fixture, *infrav1.NvidiaBMMCluster)
	}{
		{"labels", 2, relabel},
		{"description", 2, func(f *bmmtest.Fixture, c *infrav1.NvidiaBMMCluster) {
			bmmtest.Change(f, c, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.Description = "new" })
		}},
		{"labels that another client changed", 3, func(f *bmmtest.Fixture, c *infrav1.NvidiaBMMCluster) {
			labels := f.Sim.State().VPCs[0].Labels
			labels["team"] = "b"
			_, err := f.API().UpdateVPC(t.Context(), sim.DefaultSiteID, c.Status.VPCID, bmm.VPCUpdateRequest{Labels: &labels})
			f.Expect(err).NotTo(HaveOccurred())
		}},
		{"labels, and the object is moved meanwhile", 2, func(f *bmmtest.Fixture, c *infrav1.NvidiaBMMCluster) {
			relabel(f, c)
			f.Eventually(func() int { return f.Called("updateVpc") }).Should(Equal(1))
			f.UntilReady(c)
			managertest.Move(t, f.Client, nil, c)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, lateInventory)
			object := f.CreateCluster("demo", withGroup, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.Labels = infrav1.ResourceLabels{"team": "a"} })
			f.UntilReady(object)
			vpc, group := object.Status.VPCID, object.Status.NetworkSecurityGroupID
			enforced := func() string { return f.Sim.State().Enforced[vpc] }
			f.Expect(enforced()).To(Equal(group))
			detached := make(chan struct{})
			go func() { // it may be over before a change that takes long
				defer close(detached)
				for enforced() != "" && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
			}()

			row.change(f, object)
			f.Eventually(detached).Should(BeClosed())
			f.Expect(f.Sim.State().VPCs[0].NetworkSecurityGroupID).To(Equal(group), "the API knows nothing of it")
			f.Eventually(enforced).Should(Equal(group))
			f.UntilReady(object)
			looks := f.Called("getVpc")
			f.Eventually(func() int { return f.Called("getVpc") }).Should(BeNumerically(">", looks+3))
			f.Expect(enforced()).To(Equal(group))
			f.Expect(f.Called("updateVpc")).To(Equal(row.patches), "and nothing is sent any more")
		})
	}
}

// A port that was opened by hand is closed again, and the object says what was done.
func TestGroup_isPutBackAsTheSpecSays(t *testing.T) {
	t.Parallel()
	open := bmm.NetworkSecurityGroupRule{
		Name: "open", Direction: "INGRESS", Protocol: "TCP", Action: "PERMIT", Priority: 1,
		SourcePrefix: "0.0.0.0/0", DestinationPrefix: "0.0.0.0/0", DestinationPortRange: "1-65535",
	}
	for _, row := range []struct {
		name, says string
		drift      func(*bmm.NetworkSecurityGroup) bmm.NetworkSecurityGroupUpdateRequest
	}{
		{"a rule more", "rule open: remove 1 permit ingress tcp", func(g *bmm.NetworkSecurityGroup) bmm.NetworkSecurityGroupUpdateRequest {
			rules := append([]bmm.NetworkSecurityGroupRule{open}, g.Rules...)
			return bmm.NetworkSecurityGroupUpdateRequest{Rules: &rules}
		}},
		{"a rule less", "rule bedplate-deny-egress: add 60000 deny egress any", func(g *bmm.NetworkSecurityGroup) bmm.NetworkSecurityGroupUpdateRequest {
			rules := g.Rules[:len(g.Rules)-1]
			return bmm.NetworkSecurityGroupUpdateRequest{Rules: &rules}
		}},
		{"another rule", "rule ssh: 100 permit ingress tcp 0.0.0.0/0", func(g *bmm.NetworkSecurityGroup) bmm.NetworkSecurityGroupUpdateRequest {
			rules := append([]bmm.NetworkSecurityGroupRule(nil), g.Rules...)
			rules[0].SourcePrefix = "0.0.0.0/0"
			return bmm.NetworkSecurityGroupUpdateRequest{Rules: &rules}
		}},
		{"another name", "name: other → demo", func(*bmm.NetworkSecurityGroup) bmm.NetworkSecurityGroupUpdateRequest {
			return bmm.NetworkSecurityGroupUpdateRequest{Name: "other"}
		}},
		{"stateless", "statefulEgress: false → true", func(*bmm.NetworkSecurityGroup) bmm.NetworkSecurityGroupUpdateRequest {
			return bmm.NetworkSecurityGroupUpdateRequest{StatefulEgress: ptr.To(false)}
		}},
		{"other labels", "label team: add a", func(g *bmm.NetworkSecurityGroup) bmm.NetworkSecurityGroupUpdateRequest {
			labels := bmm.Labels{}
			for name, value := range g.Labels {
				if name != "team" {
					labels[name] = value
				}
			}
			return bmm.NetworkSecurityGroupUpdateRequest{Labels: &labels}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			object := f.CreateCluster("demo", withGroup)
			f.UntilReady(object)
			before := f.Sim.State().NetworkSecurityGroups[0]

			_, err := f.API().UpdateNetworkSecurityGroup(t.Context(), sim.DefaultSiteID, before.ID, row.drift(&before))
			f.Expect(err).NotTo(HaveOccurred())
			f.Eventually(func() []string { return f.Events(object, "Changing") }).Should(ContainElement(ContainSubstring(row.says)))
			f.UntilReady(object)
			after := f.Sim.State().NetworkSecurityGroups[0]
			f.Expect(after.Rules).To(Equal(before.Rules))
			f.Expect(after.Labels).To(Equal(before.Labels))
			f.Expect(after.Name).To(Equal(before.Name))
			f.Expect(after.StatefulEgress).To(Equal(before.StatefulEgress))
			f.Expect(f.Called("updateNetworkSecurityGroup")).To(Equal(2), "once by the user, once by the provider")
		})
	}
}

func TestGroup_thatSomebodyDetachedOrDeletedIsBackAgain(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", withGroup)
	f.UntilReady(object)
	attached := func() string { return f.Sim.State().VPCs[0].NetworkSecurityGroupID }
	first := attached()

	detach := func() {
		_, err := f.API().UpdateVPC(t.Context(), sim.DefaultSiteID, object.Status.VPCID, bmm.VPCUpdateRequest{NetworkSecurityGroupID: ptr.To("")})
		f.Expect(err).NotTo(HaveOccurred())
	}
	detach()
	f.Eventually(attached).Should(Equal(first))

	f.Expect(f.Sim.Vanish(first)).To(Succeed())
	f.Eventually(attached).ShouldNot(Or(BeEmpty(), Equal(first)))
	f.UntilReady(object)
	f.Expect(f.Sim.State().NetworkSecurityGroups).To(ConsistOf(HaveField("ID", attached())))
	f.Expect(object.Status.NetworkSecurityGroupID).To(Equal(attached()))
}

// From the cluster's own group to the user's, to none, and back: the new one is attached before the old one is deleted.
func TestGroup_canBeChangedForTheUsersOwnAndForNone(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", withGroup)
	f.UntilReady(object)
	users := f.MakeGroup("users")
	theirs := f.Snapshot(users)
	becomes := func(id string, groups ...string) {
		f.Eventually(func(g Gomega) {
			state := f.Sim.State()
			g.Expect(state.VPCs[0].NetworkSecurityGroupID).To(Equal(id))
			var ids []string
			for _, group := range state.NetworkSecurityGroups {
				ids = append(ids, group.ID)
			}
			g.Expect(ids).To(ConsistOf(groups))
			g.Expect(f.Read(object)).To(Succeed())
			g.Expect(object.Status.NetworkSecurityGroupID).To(Equal(id))
		}).Should(Succeed())
		f.UntilReady(object)
	}

	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: users}
	})
	becomes(users, users)
	f.Expect(f.Called("deleteNetworkSecurityGroup")).To(Equal(1), "it was free when its turn came")

	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = nil })
	becomes("", users)

	bmmtest.Change(f, object, withGroup)
	f.Eventually(func() int { return len(f.Sim.State().NetworkSecurityGroups) }).Should(Equal(2))
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.NetworkSecurityGroupID).NotTo(BeEmpty())
	}).Should(Succeed())
	becomes(object.Status.NetworkSecurityGroupID, users, object.Status.NetworkSecurityGroupID)

	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Snapshot(users)).To(Equal(theirs))
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestGroup_changesWithTheSpec(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", withGroup)
	f.UntilReady(object)
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		group := c.Spec.VPC.NetworkSecurityGroup
		group.Rules[0].PortRange, group.Rules[0].Action = "2222", infrav1.Deny
		group.Labels = nil
	})
	f.Eventually(func(g Gomega) {
		group := f.Sim.State().NetworkSecurityGroups[0]
		g.Expect(group.Rules[0].DestinationPortRange).To(Equal("2222-2222"))
		g.Expect(group.Rules[0].Action).To(Equal(bmm.RuleDeny))
		g.Expect(group.Labels).NotTo(HaveKey("team"))
		g.Expect(group.Labels).To(HaveKey("bedplate-owner"))
	}).Should(Succeed())
	f.UntilReady(object)
}
