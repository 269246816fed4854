package graph

import (
	"context"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// ChangedByOthers keeps an owner from being woken by what the engine itself writes: its status, and that it holds up a move. Without
// it every written condition would be the cause of another round of calls.
func ChangedByOthers() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != after.GetGeneration() ||
			!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
			!maps.Equal(before.GetLabels(), after.GetLabels()) ||
			!maps.Equal(othersAnnotations(before), othersAnnotations(after)) ||
			!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
	}}
}

func othersAnnotations(object client.Object) map[string]string {
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, clusterctlv1.BlockMoveAnnotation)
	return annotations
}

// sleeperOf is an owner that waits for its turn to create.
func sleeperOf(owner client.Object) creates.Owner {
	return creates.Owner{Kind: reflect.TypeOf(ledgers.ObjectOf(owner)), Name: client.ObjectKeyFromObject(owner)}
}

// Leave lets an owner that is deleted or paused wait for no turn any more: the next one would have to wait until it is seen not
// to come.
func (e *Engine) Leave(owner client.Object) { e.Creates.Leave(sleeperOf(owner)) }

// Release takes the finalizer off an owner of which all is gone, and lets it wait for no turn any more.
func (e *Engine) Release(ctx context.Context, owner Owner, finalizer string) error {
	e.Leave(owner)
	return e.Store.Release(ctx, owner, finalizer)
}

// LetMove lets `clusterctl move` take an owner that is paused, unless a create is pending that the service may still be at.
func (e *Engine) LetMove(ctx context.Context, owner Owner) (ctrl.Result, error) {
	return e.Store.LetMove(ctx, owner, e.Settle, e.Clock.Now())
}

// MayMove is the ledger's.
func (g *Graph) MayMove() { g.ledger.MayMove() }
