package capi

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// UserOfTemplate returns the Cluster that a machine template belongs to. It is nil, with the result of the reconcile, as long as nothing
// uses the template, or its Cluster is missing or paused: no event says when that is over, so it is looked at again after a poll interval.
func UserOfTemplate(ctx context.Context, c client.Client, template client.Object, poll time.Duration) (*clusterv1.Cluster, ctrl.Result, error) {
	owner, err := util.GetOwnerCluster(ctx, c, metav1.ObjectMeta{Namespace: template.GetNamespace(), OwnerReferences: template.GetOwnerReferences()})
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, ctrl.Result{}, fmt.Errorf("get the owning Cluster: %w", err)
	case err == nil && owner == nil:
		return nil, ctrl.Result{}, nil // Cluster API makes a Cluster the owner when something uses the template.
	case owner == nil || annotations.IsPaused(owner, template):
		return nil, ctrl.Result{RequeueAfter: poll}, nil
	}
	return owner, ctrl.Result{}, nil
}
