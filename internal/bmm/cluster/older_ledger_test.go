package cluster_test

import (
	"context"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// An older ledger lacks a peering that was created. It has no tag, so only the status knows of it, and keeps showing it until an
// operator has said whose it is.
func TestOlderLedger_lacksAPeering(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"of a cluster that lives": false, "of a cluster that is deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			own, peer := f.MakeVPC("own", bmm.EthernetVirtualizer), f.MakeVPC("peer", bmm.EthernetVirtualizer)
			object := f.CreateCluster("demo", in(own), peered(peer))
			f.UntilReady(object)
			made, key := object.Status.VPCPeerings[0].ID, "peering/"+peer
			whilePaused(f, object, func() {
				forget(f, object, key)
				if deleted {
					f.Delete(object)
				}
			})
			f.UntilReason(object, infrav1.ReadyCondition, "Unproven", made)
			f.Consistently(func() []infrav1.VPCPeeringStatus {
				f.Expect(f.Read(object)).To(Succeed())
				return object.Status.VPCPeerings
			}).Should(ConsistOf(infrav1.VPCPeeringStatus{PeerVPCID: peer, ID: made}))
			engine := &graph.Engine{Store: &ledgers.Store{Client: f.Client, Live: f.Client}}
			peering := ledgers.Resource{Key: key, Kind: "VPC peering", ID: made, Own: true}
			f.Eventually(func() error { return engine.AdoptInto(t.Context(), object, peering) }).Should(Succeed(), "it conflicts with the controller")
			if !deleted {
				f.UntilReady(object)
				f.Delete(object)
			}
			f.UntilGone(object)
			f.Expect(f.Sim.State().VPCPeerings).To(BeEmpty())
			f.Expect(f.Called("createVpcPeering")).To(Equal(1))
		})
	}
}

// An older ledger lacks a subnet that was renamed since: its name was its tag.
func TestOlderLedger_lacksASubnetThatWasRenamed(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo")
	f.UntilReady(object)
	subnet, creates := object.Status.Subnets[0], f.Called("createSubnet")
	whilePaused(f, object, func() {
		_, err := f.API().UpdateSubnet(t.Context(), object.Status.SiteID, subnet.ID, bmm.SubnetUpdateRequest{Name: "renamed"})
		f.Expect(err).NotTo(HaveOccurred())
		forget(f, object, "subnet/"+subnet.Name)
	})
	f.UntilReason(object, infrav1.SubnetsReadyCondition, "Unproven", subnet.ID)
	f.Expect(f.Called("createSubnet")).To(Equal(creates))
	f.Expect(f.Read(object)).To(Succeed())
	f.Expect(object.Status.Subnets).To(ContainElement(subnet))
}

// A backup of before anything was made was restored, and the cluster is deleted then.
func TestOlderLedger_ofBeforeAnythingWasMade(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo")
	f.UntilReady(object)
	whilePaused(f, object, func() {
		l := f.Ledger(object)
		l.Spec.Entries = []ledgerv1.Entry{*l.Entry("site")}
		f.Expect(f.Client.Update(t.Context(), l)).To(Succeed())
		f.Expect(f.Read(object)).To(Succeed())
		object.Status.VPCID, object.Status.Subnets = "", nil
		f.Expect(f.Client.Status().Update(t.Context(), object)).To(Succeed())
		f.Delete(object)
	})
	f.UntilGone(object)
	f.Expect(f.Sim.State().VPCs).To(BeEmpty())
	f.Expect(f.Sim.State().Subnets).To(BeEmpty())
}

// whilePaused does something to a cluster that no reconcile sees before it is done.
func whilePaused(f *bmmtest.Fixture, object *infrav1.NvidiaBMMCluster, do func()) {
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
	f.UntilTrue(object, clusterv1.PausedCondition)
	do()
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { delete(c.Annotations, clusterv1.PausedAnnotation) })
}

// forget has the ledger be one from before something was made.
func forget(f *bmmtest.Fixture, object *infrav1.NvidiaBMMCluster, key string) {
	l := f.Ledger(object)
	l.Spec.Entries = slices.DeleteFunc(l.Spec.Entries, func(e ledgerv1.Entry) bool { return e.Key == key })
	f.Expect(f.Client.Update(context.Background(), l)).To(Succeed())
}

// The ledger is lost (or has nothing in it), and the cluster is to be deleted: what the status shows is found by its tags.
func TestDelete_withoutASiteInTheLedger(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(f *bmmtest.Fixture, object *infrav1.NvidiaBMMCluster){
		"it is lost, and rebuilt": func(f *bmmtest.Fixture, object *infrav1.NvidiaBMMCluster) {
			f.LoseLedger(object)
			bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
				c.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true", clusterv1.PausedAnnotation: ""}
			})
		},
		"it is empty": func(f *bmmtest.Fixture, object *infrav1.NvidiaBMMCluster) {
			l := f.Ledger(object)
			l.Spec.Entries = nil
			f.Expect(f.Client.Update(t.Context(), l)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			object := f.CreateCluster("demo")
			f.UntilReady(object)
			bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
			f.UntilTrue(object, clusterv1.PausedCondition)
			lose(f, object)
			f.Delete(object)
			bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { delete(c.Annotations, clusterv1.PausedAnnotation) })
			f.UntilGone(object)
		})
	}
}
