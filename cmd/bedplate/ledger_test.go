package main

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// What docs/backup.md says to do when a ledger is lost.
func TestLedger_isShownSeededAndRebuilt(t *testing.T) { //nolint:paralleltest // orphans would be incomplete beside a lost ledger
	e := start(t)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	const name = "nvidiabmmcluster/demo"
	shown, err := e.run("", "ledger", "show", name)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(shown).To(And(ContainSubstring(cluster.Status.VPCID), ContainSubstring("subnet/nodes"), ContainSubstring("yours"),
		ContainSubstring("site="+cluster.Status.SiteID)))

	vpc, subnet := "vpc=VPC/"+cluster.Status.VPCID, "subnet/nodes=subnet/"+cluster.Status.Subnets[0].ID
	_, err = e.run("", "ledger", "seed", name, "--owner-id", "0123456789ab", "--credentials", "demo", vpc)
	e.Expect(err).To(MatchError(ContainSubstring("there is ledger nvidiabmmcluster-demo already")))

	lost := e.LoseLedger(cluster)
	e.UntilReason(cluster, infrav1.ReferencesResolvedCondition, "Invalid", "is lost")
	_, err = e.run("", "ledger", "adopt", name, vpc)
	e.Expect(err).To(MatchError(ContainSubstring("bedplate ledger seed")))
	_, err = e.run("", "ledger", "seed", name, "--owner-id", lost.Spec.OwnerID, "--credentials", "demo", vpc)
	e.Expect(err).NotTo(HaveOccurred())
	_, err = e.run("", "ledger", "adopt", name, subnet)
	e.Expect(err).NotTo(HaveOccurred())
	e.UntilReady(cluster)

	e.LoseLedger(cluster)
	e.UntilReason(cluster, infrav1.ReferencesResolvedCondition, "Invalid", "is lost")
	_, err = e.run("", "ledger", "rebuild", name)
	e.Expect(err).NotTo(HaveOccurred())
	e.UntilReady(cluster)
	e.Expect(e.Ledger(cluster).Spec.OwnerID).To(Equal(lost.Spec.OwnerID))
	e.Eventually(func() map[string]string { // it has been done
		e.Expect(e.Read(cluster)).To(Succeed())
		return cluster.Annotations
	}).ShouldNot(HaveKey(ledgerv1.TakeOverAnnotation))
	e.Expect(e.Called("createVpc")).To(Equal(1))
	e.Expect(e.Called("createSubnet")).To(Equal(1))
	e.Delete(cluster)
	e.UntilGone(cluster)
	e.Expect(e.Sim.State().Empty()).To(BeTrue())
}

func TestLedger_ofSomethingElse(t *testing.T) {
	t.Parallel()
	e := start(t)
	for _, args := range [][]string{{"show", "pod/x"}, {"show", "nvidiabmmcluster/none"}, {"adopt", "nvidiabmmcluster/none", "vpc"}} {
		_, err := e.run("", append([]string{"ledger"}, args...)...)
		e.Expect(err).To(HaveOccurred(), "%v", args)
	}
}

func TestLedger_namesKindsAsTheManagersDo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := map[string]string{
		"vpc=VPC/1": "the key has to be one of instance;", "instance=Instance/1": `must be "instance"`, "instance/1=instance/1": "one of instance;",
	}
	cluster := map[string]string{
		"vpc=vpc/1": `must be "VPC"`, "vps=VPC/1": "the key has to be one of allocation/, group, ", "instance=instance/1": "one of allocation/",
		"vpc=VPC/": "has to be KEY=KIND/ID", "peering=VPC peering/1": "a name follows the slash", "peering/=VPC peering/1": "a name follows",
		"peering/2=VPC peering/1": "neither spec nor status",
		"vpc/demo=VPC/1":          "the key has to be one of", "site=site/1": "--yours", "group/1=network security group/1": "--yours",
	}
	for owner, refused := range map[graph.Owner]map[string]string{&infrav1.NvidiaBMMMachine{}: machine, &infrav1.NvidiaBMMCluster{}: cluster} {
		for arg, says := range refused {
			_, err := bmmResourcesOf(owner, []string{arg}, nil, false)
			g.Expect(err).To(MatchError(ContainSubstring(says)), arg)
		}
	}
	peered := &infrav1.NvidiaBMMCluster{Spec: infrav1.NvidiaBMMClusterSpec{VPCPeerings: []infrav1.VPCPeeringSpec{{PeerVPCID: "2"}}}}
	g.Expect(bmmResourcesOf(peered, []string{"peering/2=VPC peering/1", "group=network security group/1"}, nil, false)).To(HaveLen(2))
	g.Expect(bmmResourcesOf(&infrav1.NvidiaBMMCluster{}, []string{"site=site/1"}, nil, true)).To(HaveLen(1))
}

// The group comes before the VPC, and doesn't lie in it, whatever the ledger is written from. The cluster is deleted in
// the end.
func TestLedger_seedOfAGroup(t *testing.T) { //nolint:paralleltest // orphans would be incomplete beside a lost ledger
	e := start(t)
	cluster := e.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{Rules: []infrav1.SecurityRule{
			{Name: "out", Direction: infrav1.Egress, Protocol: infrav1.ProtocolAll, Action: infrav1.Allow},
		}}
	})
	e.UntilReady(cluster)
	const name = "nvidiabmmcluster/demo"
	lost := e.LoseLedger(cluster)
	e.UntilReason(cluster, infrav1.ReferencesResolvedCondition, "Invalid", "is lost")
	_, err := e.run("", "ledger", "seed", name, "--owner-id", lost.Spec.OwnerID, "--credentials", "demo",
		"vpc=VPC/"+cluster.Status.VPCID, "group=network security group/"+cluster.Status.NetworkSecurityGroupID,
		"subnet/nodes=subnet/"+cluster.Status.Subnets[0].ID)
	e.Expect(err).NotTo(HaveOccurred())
	e.UntilReady(cluster)
	e.Expect(e.Ledger(cluster).Entry("group").Scope).NotTo(HaveKey("VPC"))

	_, err = e.run("", "ledger", "adopt", name, "peering/typo=VPC peering/1f0c4c1e-58a8-4a0e-8d4e-2b5a3f0a9c11")
	e.Expect(err).To(MatchError(ContainSubstring(`have a peering with "typo"`)))
	e.Delete(cluster)
	e.UntilGone(cluster)
}

// Only the status has a peering with this VPC, and says which one it is: another one would be deleted at once. What is the user's own is
// never deleted.
func TestLedgerAdopt_ofAPeeringThatOnlyTheStatusHas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := &infrav1.NvidiaBMMCluster{Status: infrav1.NvidiaBMMClusterStatus{
		SiteID: "s", VPCID: "v", VPCPeerings: []infrav1.VPCPeeringStatus{{PeerVPCID: "2", ID: "p-1"}},
	}}
	g.Expect(bmmResourcesOf(c, []string{"peering/2=VPC peering/p-1"}, nil, false)).To(HaveLen(1))
	_, err := bmmResourcesOf(c, []string{"peering/2=VPC peering/p-9"}, nil, false)
	g.Expect(err).To(HaveOccurred())
	g.Expect(bmmResourcesOf(c, []string{"peering/2=VPC peering/p-9"}, nil, true)).To(HaveLen(1))
}

// The manager writes the ledger too, and each write of it makes what was read before stale.
func TestLedgerAdopt_besideTheManager(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := &infrav1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "demo", UID: "1"}}
	conflicts := 2
	c := interceptor.NewClient(withLedger(g, &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: ledgerv1.Name("NvidiaBMMCluster", "demo"), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: infrav1.GroupVersion.String(), Kind: "NvidiaBMMCluster", Name: "demo", UID: "1"},
		}},
		Spec: ledgerv1.LedgerSpec{OwnerID: "0123456789ab"},
	}), interceptor.Funcs{Update: func(ctx context.Context, to client.WithWatch, l client.Object, options ...client.UpdateOption) error {
		if conflicts--; conflicts >= 0 {
			return apierrors.NewConflict(schema.GroupResource{Resource: "ledgers"}, l.GetName(), nil)
		}
		return to.Update(ctx, l, options...)
	}})
	g.Expect(adopt(t.Context(), c, cluster, []ledgers.Resource{{Key: "vpc", Kind: "VPC", ID: "v-1", Own: true}})).To(Succeed())
	l, err := ledgers.Of(t.Context(), c, c.Scheme(), cluster)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(l.Entry("vpc")).To(HaveField("ID", "v-1"))
	g.Expect(conflicts).To(Equal(-1))
}

// withLedger returns a client of an API server that has a ledger.
func withLedger(g *WithT, l *ledgerv1.Ledger) client.WithWatch {
	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(ledgerv1.AddToScheme(ledgerv1.GroupBMM)(scheme)).To(Succeed())
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "home"}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(l, home).Build()
}

// Why the service has refused something is what a tenant's server says, and the ledger is read by an operator.
func TestLedgerShow_letsNoTextMoveTheCursorOrBeginALine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const evil = "a\x1b[2J\r\nOwner ID:     another\n\u202e"
	cluster := &infrav1.NvidiaBMMCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "demo"}}
	c := withLedger(g, &ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: ledgerv1.Name("NvidiaBMMCluster", "demo")},
		Spec: ledgerv1.LedgerSpec{OwnerID: "0123456789ab", Entries: []ledgerv1.Entry{
			{Key: "vpc", Kind: "VPC", State: ledgerv1.Bound, ID: evil, Scope: map[string]string{"site": evil}},
			{Key: "subnet/a", Kind: "subnet", State: ledgerv1.Refused, Message: evil},
		}},
	})
	var out strings.Builder
	g.Expect(showLedger(t.Context(), &out, c, cluster)).To(Succeed())
	owners := 0
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "Owner ID:") {
			owners++
		}
		g.Expect(line).NotTo(MatchRegexp(`[\x00-\x09\x0b-\x1f\x7f\x{202e}]`))
	}
	g.Expect(owners).To(Equal(1))
}

// bmmResourcesOf reads those of an object of bmm.
func bmmResourcesOf(owner graph.Owner, args []string, in graph.Scope, yours bool) ([]ledgers.Resource, error) {
	kind := bmmOwners[1]
	if _, is := owner.(*infrav1.NvidiaBMMCluster); is {
		kind = bmmOwners[0]
	}
	return kind.resourcesOf(owner, args, in, yours)
}
