package main

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	bmmorphans "github.com/bedplate/bedplate/internal/bmm/orphans"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/orphans"
)

// abandon deletes an object and its ledger by force, as impatient users do: what it has outside stays. It returns the ID of
// the owner.
func abandon(e *ends, object graph.Owner) string {
	e.t.Helper()
	pause(e, object)
	owner := e.LoseLedger(object).Spec.OwnerID
	bmmtest.Change(e.Fixture, object, func(o graph.Owner) { o.SetFinalizers(nil) })
	e.Delete(object)
	e.UntilGone(object)
	return owner
}

func pause(e *ends, object graph.Owner) {
	e.t.Helper()
	bmmtest.Change(e.Fixture, object, func(o graph.Owner) {
		o.SetAnnotations(merged(o.GetAnnotations(), clusterv1.PausedAnnotation, ""))
	})
	e.UntilTrue(object, clusterv1.PausedCondition)
}

// leaveLedger deletes an object, whose finalizer is removed: its ledger stays, and what it names.
func leaveLedger(e *ends, object graph.Owner) *ledgerv1.Ledger {
	e.t.Helper()
	ledger := e.Ledger(object)
	pause(e, object)
	e.Delete(object)
	e.Strip(object)
	e.UntilGone(object)
	return ledger
}

// Removing the finalizer leaves the ledger, and what it names.
func TestOrphans_areWhatALedgerNamesThatIsAllThatIsLeft(t *testing.T) {
	t.Parallel()
	e := start(t)
	secret := credentials(e)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	ledger := leaveLedger(e, cluster)
	bmmtest.Change(e.Fixture, e.Secret("demo"), func(s *corev1.Secret) { s.Data["endpoint"] = []byte(e.datacenter.url) }) // else it is another account
	out, err := e.run("", "orphans", "--secret", secret)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(out).To(ContainSubstring("NvidiaBMMCluster " + e.Namespace + "/demo is gone, and only its ledger is left"))
	e.Eventually(func() string {
		out, err = e.run("", "orphans", "--secret", secret, "--delete", "--owner", ledger.Spec.OwnerID)
		e.Expect(err).NotTo(HaveOccurred())
		return out
	}).Should(HavePrefix("No orphans of "))
	e.Expect(e.Sim.State().Empty()).To(BeTrue())
	e.UntilGone(ledger)
}

func merged(annotations map[string]string, name, value string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	return annotations
}

// credentials lead to the simulator by the wire.
func credentials(e *ends) string {
	e.t.Helper()
	secret := e.Secret("wired")
	secret.Data["endpoint"] = []byte(e.datacenter.url)
	e.Create(secret)
	return e.Namespace + "/" + secret.Name
}

// startCluster starts with a cluster that is ready, and returns its credentials by the wire as well.
func startCluster(t *testing.T) (e *ends, secret string, cluster *infrav1.NvidiaBMMCluster) {
	t.Helper()
	e = start(t)
	secret = credentials(e)
	cluster = e.CreateCluster("demo")
	e.UntilReady(cluster)
	return e, secret, cluster
}

func listed(e *ends, args ...string) *orphans.Report {
	e.t.Helper()
	out, err := e.run("", append([]string{"orphans", "-o", "json"}, args...)...)
	e.Expect(err).NotTo(HaveOccurred(), out)
	report := &orphans.Report{}
	e.Expect(json.Unmarshal([]byte(out), report)).To(Succeed())
	return report
}

func deleteUntilNothingIsListed(e *ends, secret, owners string) {
	e.t.Helper()
	e.Eventually(func() []*orphans.Orphan {
		return listed(e, "--secret", secret, "--delete", "--owner", owners).Orphans
	}).Should(BeEmpty())
}

func idsOf(all []*orphans.Orphan) []string {
	ids := []string{}
	for _, o := range all {
		ids = append(ids, o.ID)
	}
	return ids
}

func TestOrphans_areNotWhatLivingObjectsHave(t *testing.T) {
	t.Parallel()
	e := start(t)
	e.UntilReady(e.CreateCluster("demo", withGroup))
	e.UntilReady(e.CreateMachine("demo", "worker-1", []byte("#cloud-config")))
	secret := credentials(e)
	out, err := e.run("", "orphans", "--secret", secret)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(out).To(Equal("No orphans.\n"))
	out, err = e.run("", "orphans", "--secret", secret, "--owner", "0c1f7e2ab934")
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(out).To(Equal("No orphans of 0c1f7e2ab934.\n"), "others may have some")
	e.wroteNothing()
}

func withGroup(c *infrav1.NvidiaBMMCluster) {
	c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{Rules: []infrav1.SecurityRule{{
		Name: "all", Direction: infrav1.Ingress, Protocol: infrav1.ProtocolAll, Action: infrav1.Allow,
	}}}
}

// theirs makes what is the user's own, with names that look like ours: they end in a MAC address.
func theirs(e *ends) (ids []string) {
	e.t.Helper()
	make := func(kind sim.ObjectKind, request any) string {
		id, err := e.Sim.Make(sim.Object{Kind: kind, Request: request})
		e.Expect(err).NotTo(HaveOccurred())
		ids = append(ids, id)
		return id
	}
	vpc := make(sim.KindVPC, bmm.VPCCreateRequest{
		Name: "bmc-001122334455", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer,
		Labels: bmm.Labels{"team": "red"},
	})
	make(sim.KindSubnet, bmm.SubnetCreateRequest{
		Name: "bmc-001122334455", VPCID: vpc, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 24,
	})
	return ids
}

func TestOrphans_areWhatForcedDeletionsLeaveAndGoOneByOne(t *testing.T) {
	t.Parallel()
	e := start(t)
	secret := credentials(e)
	theirs := theirs(e)
	other := e.CreateCluster("other", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.Name = "other"
		withGroup(c)
	})
	e.UntilReady(other)
	e.UntilReady(e.CreateMachine("other", "other-1", []byte("#cloud-config")))
	kept := idsIn(e.Sim.State())

	cluster := e.CreateCluster("demo", withGroup)
	e.UntilReady(cluster)
	machine := e.CreateMachine("demo", "worker-1", []byte("#cloud-config"))
	e.UntilReady(machine)
	owners := abandon(e, machine) + "," + abandon(e, cluster)

	out, err := e.run("", "orphans", "--secret", secret, "--site", "site-1")
	e.Expect(err).NotTo(HaveOccurred())
	e.golden("orphans", sorted(out))
	report := listed(e, "--secret", secret)
	e.Expect(idsOf(report.Orphans)).To(ConsistOf(without(idsIn(e.Sim.State()), kept)))
	e.Expect(idsOf(report.LeftOut)).To(ConsistOf(theirs[1]))
	e.wroteNothing()

	_, err = e.run("", "orphans", "--secret", secret, "--delete")
	e.Expect(err).To(MatchError(ContainSubstring("--delete needs --owner")))
	e.wroteNothing()

	first := listed(e, "--secret", secret, "--delete", "--owner", owners)
	e.Expect(e.datacenter.written()).To(HaveLen(1), "the instance first, and nothing that it uses: %v", e.datacenter.written())
	e.Expect(byKind(first)).To(Equal(map[string]orphans.Deletion{
		"instance": orphans.Asked, "subnet": orphans.Waits, "VPC": orphans.Waits, "network security group": orphans.Waits,
	}))
	deleteUntilNothingIsListed(e, secret, owners)
	e.Expect(idsIn(e.Sim.State())).To(ConsistOf(kept))
	e.Expect(e.datacenter.written()).To(HaveLen(4), "each is asked once")
	e.Expect(e.management.written()).To(BeEmpty())
}

// sorted lets owner IDs, which are random, not decide the order: the machine's comes first.
func sorted(out string) string {
	lines := strings.SplitAfter(out, "\n")
	for i, line := range lines {
		if strings.Contains(line, "  instance  ") {
			copy(lines[2:i+1], lines[1:i])
			lines[1] = line
		}
	}
	return strings.Join(lines, "")
}

func byKind(r *orphans.Report) map[string]orphans.Deletion {
	all := map[string]orphans.Deletion{}
	for _, o := range r.Orphans {
		all[o.Kind] = o.Deletion
	}
	return all
}

// idsIn are the IDs of everything outside.
func idsIn(s sim.State) []string {
	var ids []string
	for _, i := range s.Instances {
		ids = append(ids, i.ID)
	}
	for _, n := range s.Subnets {
		ids = append(ids, n.ID)
	}
	for _, p := range s.VPCPrefixes {
		ids = append(ids, p.ID)
	}
	for _, p := range s.VPCPeerings {
		ids = append(ids, p.ID)
	}
	for _, v := range s.VPCs {
		ids = append(ids, v.ID)
	}
	for _, g := range s.NetworkSecurityGroups {
		ids = append(ids, g.ID)
	}
	for _, a := range s.Allocations {
		ids = append(ids, a.ID)
	}
	for _, b := range s.IPBlocks {
		ids = append(ids, b.ID)
	}
	return ids
}

func without(all, some []string) []string {
	known := map[string]bool{}
	for _, id := range some {
		known[id] = true
	}
	var rest []string
	for _, id := range all {
		if !known[id] {
			rest = append(rest, id)
		}
	}
	return rest
}

// Prefixes, a peering, an IP block of our own and its allocation: the last ones have nothing but their names.
func TestOrphans_ofAnFNNClusterWithEverythingGoInTheOrderThatTheServerAccepts(t *testing.T) {
	t.Parallel()
	e := start(t, func(w *sim.Config) { w.Sites[0].NativeNetworking = true })
	secret := credentials(e)
	peer, err := e.Sim.Make(sim.Object{Kind: sim.KindVPC, Request: bmm.VPCCreateRequest{
		Name: "peer", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.FNN,
	}})
	e.Expect(err).NotTo(HaveOccurred())
	kept := idsIn(e.Sim.State())
	cluster := e.CreateCluster("demo", withGroup, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkVirtualizationType = infrav1.FabricNativeNetworking
		c.Spec.Subnets = nil
		c.Spec.VPCPrefixes = []infrav1.VPCPrefixSpec{{Name: "nodes", PrefixLength: ptr.To[int32](24)}}
		c.Spec.VPCPeerings = []infrav1.VPCPeeringSpec{{PeerVPCID: peer}}
		c.Spec.IPBlock = &infrav1.IPBlockReference{Create: &infrav1.IPBlockCreateSpec{
			Prefix: "10.7.0.0/16", RoutingType: infrav1.RoutingDatacenterOnly,
		}}
	})
	e.UntilReady(cluster)
	owner := abandon(e, cluster)
	e.Expect(idsOf(listed(e, "--secret", secret).Orphans)).To(HaveLen(6))
	deleteUntilNothingIsListed(e, secret, owner)
	e.Expect(idsIn(e.Sim.State())).To(ConsistOf(kept))
	var kinds []string
	for _, call := range e.datacenter.written() {
		kinds = append(kinds, path.Base(path.Dir(call)))
	}
	e.Expect(kinds).To(Equal([]string{"vpc-peering", "vpc-prefix", "vpc", "network-security-group", "allocation", "ipblock"}))
}

// double makes a VPC with the tag of one there is, as a service does that loses a race with itself.
func double(e *ends, cluster *infrav1.NvidiaBMMCluster) string {
	e.t.Helper()
	for _, v := range e.Sim.State().VPCs {
		if v.ID == cluster.Status.VPCID {
			id, err := e.Sim.Make(sim.Object{Kind: sim.KindVPC, Request: bmm.VPCCreateRequest{
				Name: v.Name + "-again", SiteID: v.SiteID, NetworkVirtualizationType: v.NetworkVirtualizationType, Labels: v.Labels,
			}})
			e.Expect(err).NotTo(HaveOccurred())
			return id
		}
	}
	e.t.Fatal("no VPC")
	return ""
}

func TestOrphans_areDoublesTooAndTheBoundOneStays(t *testing.T) {
	t.Parallel()
	e, secret, cluster := startCluster(t)
	id := double(e, cluster)
	report := listed(e, "--secret", secret)
	e.Expect(idsOf(report.Orphans)).To(ConsistOf(id))
	why := "a duplicate: the VPC of NvidiaBMMCluster " + e.Namespace + "/demo is " + cluster.Status.VPCID
	e.Expect(report.Orphans[0].Why).To(Equal(why))
	deleteUntilNothingIsListed(e, secret, report.Orphans[0].Owner)
	e.Expect(e.Sim.State().VPCs).To(HaveLen(1))
	e.Expect(e.Sim.State().VPCs[0].ID).To(Equal(cluster.Status.VPCID))
}

// Another cluster is in a VPC whose own cluster is gone, and has a machine there.
func TestOrphans_areNotWhatALivingObjectUses(t *testing.T) {
	t.Parallel()
	e, secret, cluster := startCluster(t)
	vpc := cluster.Status.VPCID
	guest := e.CreateCluster("guest", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.ID = vpc })
	e.UntilReady(guest)
	owner := abandon(e, cluster)
	report := listed(e, "--secret", secret, "--owner", owner)
	e.Expect(report.Orphans).To(HaveLen(1))
	e.Expect(report.Orphans[0].Key).To(Equal("subnet/nodes"))
	e.Expect(report.LeftOut).To(HaveLen(1))
	e.Expect(report.LeftOut[0].ID).To(Equal(vpc))
	e.Expect(report.LeftOut[0].Why).To(Equal("NvidiaBMMCluster " + e.Namespace + "/guest uses it"))
}

// What has nothing but a name counts only if its owner is named: here the VPC was the user's.
func TestOrphans_withNothingButANameNeedSomebodyWhoVouches(t *testing.T) {
	t.Parallel()
	e := start(t)
	secret := credentials(e)
	vpc := theirs(e)[0]
	cluster := e.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.ID = vpc })
	e.UntilReady(cluster)
	owner := abandon(e, cluster)
	e.Expect(listed(e, "--secret", secret).Orphans).To(BeEmpty())
	out, err := e.run("", "orphans", "--secret", secret)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(out).To(ContainSubstring("if Bedplate created it, add --owner " + owner))
	deleteUntilNothingIsListed(e, secret, owner)
	e.Expect(e.Sim.State().Subnets).To(HaveLen(1), "the user's own")
}

// An object comes back from a backup, or by clusterctl move, while what it had is being deleted.
func TestOrphans_areLookedAtOnceMoreBeforeTheyGo(t *testing.T) {
	t.Parallel()
	e := start(t)
	secret := client.ObjectKey{Namespace: e.Namespace, Name: "wired"}
	credentials(e)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	back, ledger := cluster.DeepCopy(), e.Ledger(cluster)
	owner := abandon(e, cluster)
	options := orphans.Options{Secrets: []client.ObjectKey{secret}, Owners: []string{owner}, Egress: egress.Policy{Loopback: true}}
	report, err := orphans.Find(t.Context(), e.Client, bmmorphans.System, options)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(report.Orphans).To(HaveLen(2))

	e.Create(&infrav1.NvidiaBMMCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name: back.Name, Namespace: back.Namespace,
			Annotations: merged(back.Annotations, clusterv1.PausedAnnotation, ""),
		},
		Spec: back.Spec,
	})
	e.Restore(ledger)
	e.Expect(report.Delete(t.Context(), e.Client)).To(Succeed())
	e.Expect(byKind(report)).To(Equal(map[string]orphans.Deletion{"subnet": orphans.Spared, "VPC": orphans.Waits}))
	e.Expect(e.datacenter.written()).To(BeEmpty())
	e.Expect(e.Sim.State().Subnets[0].Status).To(Equal(bmm.SubnetReady))
}
