package takeover_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/takeover"
)

func TestOldConditions_areThoseWithoutAReason(t *testing.T) {
	t.Parallel()
	ours := metav1.Condition{Type: infrav1.VPCReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready"}
	c := &infrav1.IBMPowerVSCluster{}
	c.Status.Conditions = []metav1.Condition{{Type: "ServiceInstanceReady", Status: metav1.ConditionTrue}, ours}
	takeover.DropOldConditions(c)
	NewWithT(t).Expect(c.Status.Conditions).To(Equal([]metav1.Condition{ours}))
}
