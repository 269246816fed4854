package cluster_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/graph"
)

// saidOnce waits for the one event of the object about an annotation.
func saidOnce(f *bmmtest.Fixture, object graph.Owner, annotation string) {
	f.Eventually(func() (said int) {
		for _, note := range f.Events(object, "Invalid") {
			if strings.Contains(note, annotation) {
				said++
			}
		}
		return said
	}).Should(Equal(1))
}

func TestDelete_ofWhatSomebodyElseManagesSaysWhatHoldsIt(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, clusterv1.ManagedByAnnotation, "another-manager")
	})
	f.Delete(object)
	f.UntilReason(object, infrav1.VPCReadyCondition, "Invalid", "annotation cluster.x-k8s.io/managed-by leaves this object to another manager")
	f.UntilReason(object, graph.ReadyCondition, "Invalid", "the finalizer "+infrav1.ClusterFinalizer)
	saidOnce(f, object, clusterv1.ManagedByAnnotation)
	f.Expect(f.Called("deleteVpc")).To(BeZero())

	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { delete(c.Annotations, clusterv1.ManagedByAnnotation) })
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// clusterctl marks what it has moved, in place of all other annotations, deletes it, and dies before it removes the finalizers.
func TestDelete_ofWhatABrokenMoveHasLeftSaysWhatHoldsIt(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	machine := f.CreateMachine("demo", "worker-1", []byte("#cloud-config"))
	f.UntilReady(machine)
	before := f.Sim.State()
	moved := map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
	bmmtest.Change(f, machine, func(m *infrav1.NvidiaBMMMachine) { m.Annotations = moved })
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Annotations = moved })
	f.Delete(machine)
	f.Delete(object)
	says := "annotation clusterctl.cluster.x-k8s.io/delete-for-move says that clusterctl has moved this object"
	f.UntilReason(machine, infrav1.InstanceProvisionedCondition, "Invalid", says)
	f.UntilReason(object, infrav1.VPCReadyCondition, "Invalid", says)
	saidOnce(f, object, clusterctlv1.DeleteForMoveAnnotation)

	bmmtest.Change(f, machine, func(m *infrav1.NvidiaBMMMachine) { m.Finalizers = nil })
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Finalizers = nil })
	f.UntilGone(machine)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Instances).To(HaveLen(len(before.Instances)))
	f.Expect(f.Sim.State().VPCs).To(HaveLen(len(before.VPCs)))
}
