package capi

import (
	"context"
	"errors"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/patch"
)

// Conventions are those that stop a reconcile of an infrastructure object: who else may be responsible for it, pauses, moves, and who
// owns it.
type Conventions struct {
	Client client.Client
	Engine *graph.Engine
	// Finalizer is ours.
	Finalizer string
	// Condition says what holds a deleted object that is left to another manager.
	Condition string
	// ManagedBy: an annotation may leave these objects to another manager.
	ManagedBy bool
}

// Of are the conventions of the objects of a lifecycle.
func Of[C any](l *lifecycle.Lifecycle[C]) Conventions {
	return Conventions{Client: l.Client, Engine: l.Engine, Finalizer: l.Finalizer, Condition: l.DeletionCondition}
}

// OfCluster are those of the infrastructure objects of Clusters, which an annotation may leave to another manager.
func OfCluster[C any](l *lifecycle.Lifecycle[C]) Conventions {
	c := Of(l)
	c.ManagedBy = true
	return c
}

// Stop reports whether an object isn't reconciled now. Its Cluster may be nil. Until it is owned, it waits for Cluster API.
func (c Conventions) Stop(ctx context.Context, object graph.Owner, cluster *clusterv1.Cluster, owned bool) (bool, ctrl.Result, error) {
	if left, result, err := c.isLeft(ctx, object); left {
		return true, result, err
	}
	if paused, err := Paused(ctx, c.Client, cluster, object); err != nil {
		return true, ctrl.Result{}, err
	} else if paused {
		c.Engine.Leave(object)
		result, err := c.Engine.LetMove(ctx, object)
		return true, result, err
	}
	if object.GetDeletionTimestamp().IsZero() && !owned {
		ctrl.LoggerFrom(ctx).Info("Waiting until Cluster API sets the owner reference")
		return true, ctrl.Result{}, nil
	}
	return false, ctrl.Result{}, nil
}

// remedies by annotation, with the finalizer to come.
var remedies = map[string]string{
	clusterv1.ManagedByAnnotation: "leaves this object to another manager, but resources that were created from here still exist: to delete them, remove the " +
		"annotation; to leave them to the other manager too, remove the finalizer",
	// clusterctl deletes the ledger here before its owner.
	clusterctlv1.DeleteForMoveAnnotation: "says that clusterctl has moved this object, so its external resources are left alone here: " +
		"if object and ledger are in the other management cluster, repeat the move or remove the finalizer here; if they aren't, " +
		"remove the annotation to delete the resources from here; to keep the resources, remove the finalizer",
}

// isLeft reports whether an annotation leaves an object to another manager. If it is deleted while our finalizer holds it, that is said
// in the condition, after a poll interval: clusterctl removes the finalizers right after the deletion.
func (c Conventions) isLeft(ctx context.Context, object graph.Owner) (bool, ctrl.Result, error) {
	managed := c.ManagedBy && annotations.IsExternallyManaged(object)
	if object.GetDeletionTimestamp().IsZero() || !controllerutil.ContainsFinalizer(object, c.Finalizer) {
		return managed, ctrl.Result{}, nil
	}
	annotation := clusterv1.ManagedByAnnotation
	if !managed {
		annotation = clusterctlv1.DeleteForMoveAnnotation
	}
	if _, left := object.GetAnnotations()[annotation]; !left {
		return false, ctrl.Result{}, nil
	}
	if wait := object.GetDeletionTimestamp().Add(c.Engine.Poll).Sub(c.Engine.Clock.Now()); wait > 0 {
		return true, ctrl.Result{RequeueAfter: wait}, nil
	}
	before := object.DeepCopyObject().(client.Object)
	result, err := c.Engine.Blocked(object, c.Condition, fault.Invalidf("annotation %s %s %s", annotation, remedies[annotation], c.Finalizer))
	return true, result, errors.Join(err, patch.All(ctx, c.Client, before, object))
}
