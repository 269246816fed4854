package platform

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
)

// playWorkloads stands for Kubernetes' own controllers where no Pod runs: each workload has what it wants, and each DaemonSet no nodes.
func (p *Platform) playWorkloads(ctx context.Context) {
	for ctx.Err() == nil {
		_ = p.playOnce(ctx) // it is tried again
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

func (p *Platform) playOnce(ctx context.Context) error {
	deployments, sets, daemons := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}
	errs := []error{p.ocp.List(ctx, deployments), p.ocp.List(ctx, sets), p.ocp.List(ctx, daemons)}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; d.Status.ObservedGeneration != d.Generation {
			n := ptr.Deref(d.Spec.Replicas, 1)
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			}
			errs = append(errs, p.ocp.Status().Update(ctx, d))
		}
	}
	for i := range sets.Items {
		if s := &sets.Items[i]; s.Status.ObservedGeneration != s.Generation {
			n := ptr.Deref(s.Spec.Replicas, 1)
			s.Status = appsv1.StatefulSetStatus{ObservedGeneration: s.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n}
			errs = append(errs, p.ocp.Status().Update(ctx, s))
		}
	}
	for i := range daemons.Items {
		if d := &daemons.Items[i]; d.Status.ObservedGeneration != d.Generation {
			d.Status = appsv1.DaemonSetStatus{ObservedGeneration: d.Generation}
			errs = append(errs, p.ocp.Status().Update(ctx, d))
		}
	}
	return errors.Join(errs...)
}
