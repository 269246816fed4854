package machine

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
)

// HealthIssue is what a MachineHealthCheck has found, or a person.
func (n *node) HealthIssue() *bmm.MachineHealthIssue {
	category, written := n.object.Annotations[infrav1.HealthIssueAnnotation]
	if n.machine != nil {
		check := conditions.Get(n.machine, clusterv1.MachineHealthCheckSucceededCondition)
		if check != nil && check.Status == metav1.ConditionFalse {
			return instance.HealthIssue(category, "MachineHealthCheck failed: "+check.Reason, check.Message)
		}
	}
	if written {
		return instance.HealthIssue(category, fmt.Sprintf("reported with the annotation %s", infrav1.HealthIssueAnnotation), "")
	}
	return nil
}
