package webhook

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// It may have come into being before there was a webhook.
func TestCluster_withAnOldProblemCanStillBeChangedAndGo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := &infrav1.NvidiaBMMCluster{}
	before.Finalizers = []string{infrav1.ClusterFinalizer}
	before.Spec.Subnets = []infrav1.SubnetSpec{{Name: "a", CIDR: "10.0.0.0/24"}, {Name: "b", CIDR: "10.0.0.0/24"}}

	after := before.DeepCopy()
	after.Finalizers = nil
	g.Expect(clusterProblems(after)).To(HaveLen(1))
	g.Expect(newClusterProblems(t.Context(), before, after)).To(BeEmpty())

	after.Spec.Subnets = append(after.Spec.Subnets, infrav1.SubnetSpec{Name: "c", CIDR: "10.0.0.0/25"})
	g.Expect(newClusterProblems(t.Context(), before, after)).To(HaveLen(2), "c overlaps both")
}
