package machine

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/bedplate/bedplate/internal/bmm/instance"
)

// Health is what a MachineHealthCheck has found.
func (n *node) Health(context.Context) (instance.Health, error) {
	health := instance.Health{
		Object: n.object, Cluster: n.object.Namespace + "/" + n.object.Labels[clusterv1.ClusterNameLabel],
	}
	if n.machine != nil {
		check := conditions.Get(n.machine, clusterv1.MachineHealthCheckSucceededCondition)
		if check != nil && check.Status == metav1.ConditionFalse {
			health.Found, health.Details = "MachineHealthCheck failed: "+check.Reason, check.Message
		}
	}
	return health, nil
}
