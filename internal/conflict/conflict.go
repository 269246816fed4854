// Package conflict keeps out of logs and metrics of failures what is none: that somebody else has written an object first.
package conflict

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// retry is when an object is looked at again that somebody else has changed. The cache has it by then, as a rule.
const retry = 50 * time.Millisecond

// Expected returns a reconciler that tries again where the API server has refused a write because of another one's.
func Expected(inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := inner.Reconcile(ctx, request)
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: retry}, nil
		}
		return result, err
	})
}
