package machine

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
)

// HealthIssue is what a MachineHealthCheck has found, or a person.
func (n *node) HealthIssue(context.Context) (*bmm.MachineHealthIssue, error) {
	if n.machine != nil {
		check := conditions.Get(n.machine, clusterv1.MachineHealthCheckSucceededCondition)
		if check != nil && check.Status == metav1.ConditionFalse {
			return instance.HealthIssue(n.object, "MachineHealthCheck failed: "+check.Reason, check.Message), nil
		}
	}
	return instance.HealthIssue(n.object, "", ""), nil
}
