package cluster_test

import (
	"testing"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
)

// A key of one instance signs nothing that is in another one.
func TestBucket_ofAnotherInstanceIsNotUsed(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	f.MakeOwn()
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.Ignition = &infrav1.Ignition{}
		c.Spec.CosInstance = &infrav1.CosInstance{Name: "demo-cos", BucketName: powervstest.OwnBucket, BucketRegion: powervstest.Region}
	})
	f.UntilReason(c, infrav1.COSInstanceReadyCondition, "Invalid", "choose another spec.cosInstance.bucketName")
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Spec.CosInstance.BucketName = "demo-boot" })
	f.UntilReady(c)
}
