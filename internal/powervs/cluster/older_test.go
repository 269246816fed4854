package cluster_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
)

// The ledger is from before the key was made, which no status shows, and the instance is the user's own: the key doesn't go with it.
func TestHMACKey_isDeletedWithAnOlderLedger(t *testing.T) {
	t.Parallel()
	f := powervstest.StartCloud(t)
	before := f.MakeOwn()
	items := f.Items()
	stop := f.RunProvider(powervstest.Poll, powervstest.Settle)
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.Ignition = &infrav1.Ignition{}
		c.Spec.CosInstance = &infrav1.CosInstance{Name: "own-cos", BucketName: powervstest.OwnBucket, BucketRegion: powervstest.Region}
	})
	f.UntilReady(c)
	stop()
	keys, err := f.API().HMACKeys(t.Context(), before.COS)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(keys).To(HaveLen(1))
	ledger := f.Ledger(c)
	ledger.Spec.Entries = slices.DeleteFunc(ledger.Spec.Entries, func(e ledgerv1.Entry) bool { return e.Key == "hmackey" })
	f.Expect(f.Client.Update(t.Context(), ledger)).To(Succeed())
	f.Delete(c)
	f.RunProvider(powervstest.Poll, powervstest.Settle)
	f.UntilGone(c)
	keys, err = f.API().HMACKeys(t.Context(), before.COS)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(keys).To(BeEmpty())
	f.Expect(f.Items()).To(Equal(items))
}
