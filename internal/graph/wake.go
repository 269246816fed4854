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

// ChangedByOthers ignores what the engine itself writes to an owner: its status, and the block-move annotation. Otherwise every
// written condition would cause another round of calls.
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

// Leave removes an owner that is deleted or paused from the queue for a turn: otherwise the next one waits until its turn
// expires.
func (e *Engine) Leave(owner client.Object) { e.Creates.Leave(sleeperOf(owner)) }

// Release removes the finalizer of an owner of which all is gone, and removes it from the queue for a turn.
func (e *Engine) Release(ctx context.Context, owner Owner, finalizer string) error {
	e.Leave(owner)
	return e.Store.Release(ctx, owner, finalizer)
}

// LetMove lets `clusterctl move` take a paused owner, unless a create is pending that the service may still work on.
func (e *Engine) LetMove(ctx context.Context, owner Owner) (ctrl.Result, error) {
	return e.Store.LetMove(ctx, owner, e.Settle, e.Clock.Now())
}

// MayMove is that of the ledger.
func (g *Graph) MayMove() { g.ledger.MayMove() }
