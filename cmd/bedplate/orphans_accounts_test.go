package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
)

// The ledger is all that is left of a cluster, and what it names is in an account that isn't read: another Secret of the namespace leads elsewhere.
func TestOrphans_keepTheLedgerOfWhatIsInAnotherAccount(t *testing.T) { //nolint:paralleltest // orphans of all namespaces are read
	e := start(t)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	ledger := leaveLedger(e, cluster)
	keptThoughDeleted(e, ledger)
}

// keptThoughDeleted deletes orphans with a Secret that leads elsewhere: the ledger stays.
func keptThoughDeleted(e *ends, ledger *ledgerv1.Ledger) {
	e.t.Helper()
	_, endpoint := simtest.Start(e.t, sim.DefaultWorld(), nil)
	secret := e.Secret("elsewhere")
	secret.Data["endpoint"] = []byte(endpoint)
	e.Create(secret)
	out, err := e.run("", "orphans", "--secret", e.Namespace+"/elsewhere", "--delete", "--owner", ledger.Spec.OwnerID)
	e.Expect(e.Sim.State().VPCs).To(HaveLen(1))
	e.Expect(e.Read(ledger)).To(Succeed(), "its VPC and its subnet exist: %s %v", out, err)
}

// Two abandoned clusters that are peered: each can be deleted by its owner ID.
func TestOrphans_ofOneOfTwoPeers(t *testing.T) { //nolint:paralleltest // orphans of all namespaces are read
	e := start(t)
	secret := credentials(e)
	first := e.CreateCluster("first", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.Name = "first" })
	e.UntilReady(first)
	second := e.CreateCluster("second", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.Name = "second"
		c.Spec.VPCPeerings = []infrav1.VPCPeeringSpec{{PeerVPCID: first.Status.VPCID}}
	})
	e.UntilReady(second)
	owner := abandon(e, second)
	abandon(e, first)
	var out string
	e.Eventually(func() string {
		out, _ = e.run("", "orphans", "--secret", secret, "--delete", "--owner", owner)
		return out
	}).WithPolling(time.Second).Should(HavePrefix("No orphans of "))
}

// Nothing says any more to which account the Secret led that the ledger names: another Secret of the namespace may lead elsewhere.
func TestOrphans_keepTheLedgerWhoseSecretIsGone(t *testing.T) { //nolint:paralleltest // orphans of all namespaces are read
	e := start(t)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	ledger := leaveLedger(e, cluster)
	gone := e.Secret("demo")
	bmmtest.Change(e.Fixture, gone, func(s *corev1.Secret) { s.Finalizers = nil })
	e.Expect(client.IgnoreNotFound(e.Client.Delete(t.Context(), gone))).To(Succeed())
	e.UntilGone(gone)
	keptThoughDeleted(e, ledger)
}
