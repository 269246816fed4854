package machine_test

import (
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/tag"
)

// The instance was given to another object since the site was listed last.
func TestDelete_ofWhatIsAnothersByNow(t *testing.T) {
	t.Parallel()
	f := bmmtest.StartPaced(t, 4*time.Second, bmmtest.Settle)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	lists := f.Called("listInstances")
	f.Eventually(func() int { return f.Called("listInstances") }, time.Minute).Should(BeNumerically(">", lists+1), "nothing is on its way any more")
	labels := maps.Clone(f.Sim.State().Instances[0].Labels)
	labels[tag.LabelOwner] = "0123456789ab"
	_, err := f.API().UpdateInstance(t.Context(), sim.DefaultSiteID, object.Status.InstanceID, bmm.InstanceUpdateRequest{Labels: &labels})
	f.Expect(err).NotTo(HaveOccurred())

	f.Delete(object)
	f.Eventually(func() string { return f.Message(object, "Ready") }, time.Minute).Should(ContainSubstring("carries the tag of another object"))
	f.Expect(f.Called("deleteInstance")).To(BeZero())
}
