package main

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
)

// The service may still make what was attempted a moment ago: nothing would know of it without the ledger.
func TestOrphans_keepALedgerThatNamesAnAttempt(t *testing.T) {
	t.Parallel()
	e := start(t)
	secret := credentials(e)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	bmmtest.Change(e.Fixture, cluster, func(c *infrav1.NvidiaBMMCluster) {
		c.Annotations = merged(c.Annotations, clusterv1.PausedAnnotation, "")
	})
	e.UntilTrue(cluster, clusterv1.PausedCondition)
	ledger := e.Ledger(cluster)
	bmmtest.Change(e.Fixture, ledger, func(l *ledgerv1.Ledger) {
		l.Spec.Entries = append(l.Spec.Entries, ledgerv1.Entry{
			Key: "subnet/late", Kind: "subnet", State: ledgerv1.Pending, Token: "6f0c4c1e-58a8-4a0e-8d4e-2b5a3f0a9c11", At: new(metav1.Now()),
		})
	})
	e.Delete(cluster)
	e.Strip(cluster)
	e.UntilGone(cluster)
	e.Eventually(func() string {
		out, err := e.run("", "orphans", "--secret", secret, "--delete", "--owner", ledger.Spec.OwnerID)
		e.Expect(err).NotTo(HaveOccurred())
		return out
	}).Should(HavePrefix("No orphans of "))
	e.Expect(e.Read(ledger)).To(Succeed())
}
