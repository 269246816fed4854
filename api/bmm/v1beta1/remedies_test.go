package v1beta1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// The remedies that conditions of what is used name: "name another one in spec.ipBlock" (WrongIPFamily, internal/bmm/cluster/ipblock.go)
// and "name another one in the spec" (decide.missing). The status has the ID then.
func TestCluster_remediesOfWhatIsUsedAreAdmitted(t *testing.T) {
	t.Parallel()
	with := func(condition, reason string) func() *NvidiaBMMCluster {
		return func() *NvidiaBMMCluster {
			c := validCluster()
			c.Spec.IPBlock, c.Spec.VPC.ID = &IPBlockReference{ID: id}, id
			c.Status = NvidiaBMMClusterStatus{SiteID: id, IPBlockID: id, VPCID: id, Conditions: []metav1.Condition{{
				Type: condition, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now(),
			}}}
			return c
		}
	}
	checkUpdate(t, with(ReferencesResolvedCondition, "WrongIPFamily"), []refusal[*NvidiaBMMCluster]{
		{"an IPv4 block", func(c *NvidiaBMMCluster) { c.Spec.IPBlock.ID = otherID }, ""},
	})
	checkUpdate(t, with(VPCReadyCondition, "Missing"), []refusal[*NvidiaBMMCluster]{
		{"another VPC than the one that is gone", func(c *NvidiaBMMCluster) { c.Spec.VPC.ID = otherID }, ""},
	})
}
