// Package takeover has objects of another provider taken over: their ledgers are written from what that has left in spec and status.
package takeover

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// DropOldConditions removes those of another provider, which have no reason: with them the API server refuses the whole status.
func DropOldConditions(object graph.Owner) {
	object.SetConditions(slices.DeleteFunc(object.GetConditions(), func(c metav1.Condition) bool { return c.Reason == "" }))
}

// done is what a reconcile that has written a ledger ends with: the next one reads it, which a cache may lack now.
var done = &fault.Error{Class: fault.Busy, Err: fmt.Errorf("the ledger was just written from the status")}

// Open opens the graph of an object, after its ledger was written if it has the annotation. Shown is what spec and status say, as lines of
// a ledger: all have to exist, unless the object is being deleted.
func Open[G any](
	ctx context.Context, engine *graph.Engine, secret string, object graph.Owner, kinds []graph.AnyKind,
	shown func(context.Context) ([]ledgers.Resource, error), open func() (G, error),
) (opened G, _ error) {
	if err := fromStatus(ctx, engine, secret, object, kinds, shown); err != nil {
		return opened, err
	}
	opened, err := open()
	return opened, orAsk(ctx, engine, object, err)
}

// fromStatus writes the ledger of an object that has the annotation, and takes that off; then it fails with the class Busy. Nothing is
// written if there is a ledger, which an interrupted attempt may have written, or nothing to take over.
func fromStatus(
	ctx context.Context, engine *graph.Engine, secret string, object graph.Owner, kinds []graph.AnyKind,
	shown func(context.Context) ([]ledgers.Resource, error),
) error {
	annotations := object.GetAnnotations()
	if annotations[infrav1.TakeOverAnnotation] != "true" {
		return nil
	}
	var lines []ledgers.Resource
	l, err := ledgers.Of(ctx, engine.Live, engine.Client.Scheme(), object)
	if isKept := l.IsOf(object.GetUID()) && (l.Owns() || len(ledgers.Lacking(l, object)) == 0); err == nil && !isKept {
		lines, err = shown(ctx)
	}
	if err == nil && len(lines) > 0 {
		err = engine.Seed(ctx, object, "", []string{secret}, kinds, lines...)
	}
	if err != nil {
		return fmt.Errorf("take over from the status: %w", err)
	}
	delete(annotations, infrav1.TakeOverAnnotation)
	object.SetAnnotations(annotations)
	if len(lines) > 0 {
		return done
	}
	return nil
}

// orAsk says of an error of an object without a ledger what else than a lost ledger may be the reason.
func orAsk(ctx context.Context, engine *graph.Engine, object graph.Owner, err error) error {
	if err == nil {
		return nil
	}
	if l, missing := ledgers.Of(ctx, engine.Live, engine.Client.Scheme(), object); l != nil || missing != nil {
		return err
	}
	return fmt.Errorf("%w. If another provider has made all that, have it taken over from the status: give this object the annotation "+
		"%s=\"true\"", err, infrav1.TakeOverAnnotation)
}
