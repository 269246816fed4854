package paused

import (
	"context"
	"errors"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/patch"
)

// Left speaks for deleted objects of a kind that no controller takes any further, because an annotation leaves them to another
// manager while our finalizer holds them.
type Left struct {
	Client client.Client
	Engine *graph.Engine
	// Finalizer is ours.
	Finalizer string
	// Condition to say it in.
	Condition string
}

// remedies by annotation, with the finalizer to come.
var remedies = map[string]string{
	clusterv1.ManagedByAnnotation: "leaves this object to another manager, and what was made for it here is still there: remove the " +
		"annotation to have that taken away, or, to leave that to the other manager too, the finalizer",
	// clusterctl deletes the ledger here before its owner.
	clusterctlv1.DeleteForMoveAnnotation: "says that clusterctl has moved this object, so nothing outside is touched from here: " +
		"if it is in the other management cluster, with its ledger, repeat the move or remove the finalizer here; if it isn't, " +
		"remove the annotation to have what was made for it deleted from here, or, to leave that, the finalizer",
}

// Say reports whether an object is left so by one of the annotations, and says it in the condition. It waits for a poll
// interval first: clusterctl takes the finalizers off right after the deletion.
func (l Left) Say(ctx context.Context, object graph.Owner, annotations ...string) (left bool, _ ctrl.Result, _ error) {
	if object.GetDeletionTimestamp().IsZero() || !controllerutil.ContainsFinalizer(object, l.Finalizer) {
		return false, ctrl.Result{}, nil
	}
	for _, name := range annotations {
		if _, found := object.GetAnnotations()[name]; !found {
			continue
		}
		if wait := object.GetDeletionTimestamp().Add(l.Engine.Poll).Sub(l.Engine.Clock.Now()); wait > 0 {
			return true, ctrl.Result{RequeueAfter: wait}, nil
		}
		before := object.DeepCopyObject().(client.Object)
		result, err := l.Engine.Blocked(object, l.Condition, fault.Invalidf("annotation %s %s %s", name, remedies[name], l.Finalizer))
		return true, result, errors.Join(err, patch.All(ctx, l.Client, before, object))
	}
	return false, ctrl.Result{}, nil
}
