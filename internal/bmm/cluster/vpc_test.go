package cluster_test

import (
	"cmp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

const (
	partition1 = "aa000000-0000-4000-8000-000000000001"
	partition2 = "aa000000-0000-4000-8000-000000000002"
)

// everySite can do all that a site can.
func everySite(w *sim.Config) {
	w.Sites[0].NativeNetworking, w.Sites[0].NVLinkPartition = true, true
	for _, id := range []string{partition1, partition2} {
		w.NVLinkLogicalPartitions = append(w.NVLinkLogicalPartitions, sim.Partition{ID: id, Name: id, SiteID: sim.DefaultSiteID})
	}
}

// labelled gives a VPC everything that can be changed later.
func labelled(c *infrav1.NvidiaBMMCluster) {
	c.Spec.VPC.Name = "net"
	c.Spec.VPC.Description = "the demo's"
	c.Spec.VPC.Labels = infrav1.ResourceLabels{"team": "a", "cost": "1"}
	c.Spec.VPC.NVLinkLogicalPartitionID = partition1
	c.Spec.VPC.VNI = ptr.To[int32](4711)
}

func TestVPC_isMadeAsTheSpecSays(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, everySite)
	object := f.CreateCluster("demo", labelled)
	f.UntilReady(object)
	vpc := f.Sim.State().VPCs[0]
	f.Expect(vpc.Name).To(Equal("net"))
	f.Expect(vpc.Description).To(Equal("the demo's"))
	f.Expect(vpc.NetworkVirtualizationType).To(Equal(bmm.EthernetVirtualizer), "whatever the site's own default is")
	f.Expect(vpc.NVLinkLogicalPartitionID).To(Equal(partition1))
	f.Expect(vpc.RequestedVNI).To(Equal(4711))
	f.Expect(vpc.Labels).To(And(HaveLen(5), HaveKeyWithValue("team", "a"), HaveKeyWithValue("cost", "1"), HaveKeyWithValue("bedplate-key", "vpc")))
	f.Expect(f.Called("updateVpc")).To(BeZero())
}

func TestVPC_isPutBackAsTheSpecSays(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, says string
		drift      func(bmm.Labels) bmm.VPCUpdateRequest
	}{
		{"description", "description: by hand → the demo's", func(bmm.Labels) bmm.VPCUpdateRequest {
			return bmm.VPCUpdateRequest{Description: ptr.To("by hand")}
		}},
		{"name", "name: by hand → net", func(bmm.Labels) bmm.VPCUpdateRequest { return bmm.VPCUpdateRequest{Name: "by hand"} }},
		{"NVLink partition", "nvLinkLogicalPartitionId: " + partition2 + " → " + partition1, func(bmm.Labels) bmm.VPCUpdateRequest {
			return bmm.VPCUpdateRequest{NVLinkLogicalPartitionID: ptr.To(partition2)}
		}},
		{"a label more", "label by-hand: remove yes", func(l bmm.Labels) bmm.VPCUpdateRequest {
			l["by-hand"] = "yes"
			return bmm.VPCUpdateRequest{Labels: &l}
		}},
		{"a label less", "label cost: add 1", func(l bmm.Labels) bmm.VPCUpdateRequest {
			delete(l, "cost")
			return bmm.VPCUpdateRequest{Labels: &l}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, everySite)
			object := f.CreateCluster("demo", labelled)
			f.UntilReady(object)
			before := f.Sim.State().VPCs[0]
			labels := bmm.Labels{}
			for name, value := range before.Labels {
				labels[name] = value
			}
			_, err := f.API().UpdateVPC(t.Context(), sim.DefaultSiteID, before.ID, row.drift(labels))
			f.Expect(err).NotTo(HaveOccurred())
			f.Eventually(func() []string { return f.Events(object, "Changing") }).Should(ContainElement(
				And(HavePrefix("Normal VPCReady is False: VPC "+before.ID+" is being changed"), ContainSubstring(row.says))))
			f.UntilReady(object)
			after := f.Sim.State().VPCs[0]
			after.Updated = before.Updated
			f.Expect(after).To(Equal(before))
			f.Expect(f.Called("updateVpc")).To(Equal(2), "once by the user, once by the provider")
		})
	}
}

func TestVPC_changesWithTheSpec(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, everySite)
	object := f.CreateCluster("demo", labelled)
	f.UntilReady(object)
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.Name = ""
		c.Spec.VPC.Description = ""
		c.Spec.VPC.Labels = infrav1.ResourceLabels{"team": "b"}
		c.Spec.VPC.NVLinkLogicalPartitionID = partition2
	})
	f.Eventually(func(g Gomega) {
		vpc := f.Sim.State().VPCs[0]
		g.Expect(vpc.Name).To(Equal("demo"))
		g.Expect(vpc.Description).To(BeEmpty())
		g.Expect(vpc.Labels).To(And(HaveLen(4), HaveKeyWithValue("team", "b"), HaveKey("bedplate-owner")))
		g.Expect(vpc.NVLinkLogicalPartitionID).To(Equal(partition2))
	}).Should(Succeed())
	f.UntilReady(object)
}

// The answer to the create is lost, and the spec is changed before the VPC is found: it was made as the spec was before.
func TestVPC_isComparedWithASpecThatChangedDuringItsCreate(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*infrav1.NvidiaBMMCluster)
		says   string
	}{
		"name":   {func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.Name = "other" }, ""},
		"VNI":    {func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.VNI = ptr.To[int32](7) }, "has VNI 4711, and this can't be changed: set spec.vpc.vni to that"},
		"no VNI": {func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.VNI = nil }, "has VNI 4711, and this can't be changed: set spec.vpc.vni to that"},
		"FNN":    {fnn, "is of type ETHERNET_VIRTUALIZER, and this can't be changed: set spec.vpc.networkVirtualizationType to that"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.StartPaced(t, bmmtest.Poll, 8*time.Second, everySite)
			f.Fault(simulator.Fault{ // it is made after the change, and before it is settled that it won't be
				Operation: "createVpc", Kind: simulator.FaultCommitLate,
				Hold: metav1.Duration{Duration: 100 * time.Second}, Delay: metav1.Duration{Duration: 4000 * time.Second},
			})
			object := f.CreateCluster("demo", labelled)
			f.Eventually(func() int { return f.Called("createVpc") }).Should(Equal(1))
			f.Expect(f.Read(object)).To(Succeed())
			before := object.Spec
			bmmtest.Change(f, object, row.change)
			if row.says != "" {
				f.UntilReason(object, infrav1.VPCReadyCondition, "Invalid", row.says)
				bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec = before })
			}
			f.UntilReady(object)
			f.Expect(f.Sim.State().VPCs).To(ConsistOf(HaveField("Name", cmp.Or(object.Spec.VPC.Name, "demo"))))
			f.Expect(f.Called("createVpc")).To(Equal(1))
		})
	}
}

// A tag is all that proves a VPC ours. One with another object's tag is neither changed nor deleted.
func TestVPC_withAnothersTagIsNotDeleted(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	tagged := f.Sim.State().VPCs[0].Labels
	set := func(labels bmm.Labels) {
		_, err := f.API().UpdateVPC(t.Context(), sim.DefaultSiteID, object.Status.VPCID, bmm.VPCUpdateRequest{Labels: &labels})
		f.Expect(err).NotTo(HaveOccurred())
	}
	set(bmm.Labels{"bedplate-owner": "0123456789ab"})
	f.UntilReason(object, infrav1.VPCReadyCondition, "ForeignTag", "VPC "+object.Status.VPCID+" carries the tag of another object")
	f.Delete(object)
	f.UntilReason(object, infrav1.VPCReadyCondition, "ForeignTag", "it isn't deleted; correct this object's ledger")
	f.Expect(f.Called("deleteVpc")).To(BeZero())
	set(tagged)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestVPC_getsItsTagBack(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	tagged := f.Sim.State().VPCs[0].Labels
	_, err := f.API().UpdateVPC(t.Context(), sim.DefaultSiteID, object.Status.VPCID, bmm.VPCUpdateRequest{Labels: new(bmm.Labels{})})
	f.Expect(err).NotTo(HaveOccurred())
	f.Eventually(func() bmm.Labels { return f.Sim.State().VPCs[0].Labels }).Should(Equal(tagged))
}
