package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
)

// A cluster of another provider is one that has a status and no ledger.
func TestTakeOver_keepsEverythingAndDeletesItWithTheCluster(t *testing.T) {
	t.Parallel()
	f := powervstest.StartCloud(t)
	stop := f.RunProvider(powervstest.Poll, powervstest.Settle)
	own := f.MakeOwn()
	before := f.Items()
	c := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.TransitGateway = &infrav1.TransitGateway{ID: own.Gateway}
		c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "one"}, {}}
	})
	f.UntilReady(c)
	stop()
	ledger := f.Ledger(c)
	f.Delete(ledger)
	strip := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	f.Expect(client.IgnoreNotFound(f.Client.Patch(t.Context(), ledger, strip))).To(Succeed())
	f.UntilGone(ledger)
	made, called := f.Items(), f.Cloud.Calls()

	f.RunProvider(powervstest.Poll, powervstest.Settle)
	f.UntilReason(c, infrav1.ReferencesResolvedCondition, "Invalid", `give this object the annotation bedplate.dev/take-over="true"`)
	powervstest.Change(f, c, func(c *infrav1.IBMPowerVSCluster) { c.Annotations[infrav1.TakeOverAnnotation] = "true" })
	f.UntilReady(c)
	f.Expect(c.Annotations).NotTo(HaveKey(infrav1.TakeOverAnnotation))
	f.Expect(f.Items()).To(Equal(made))
	for operation, times := range f.Cloud.Calls() {
		if times > called[operation] && operation != "iam.createToken" {
			f.Expect(operation).NotTo(ContainSubstring(".create"), "nothing is created twice")
		}
	}
	f.Expect(c.Status.TransitGateway.ControllerCreated).To(BeFalse())
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.Items()).To(Equal(before), "nothing else was deleted")
}
