// Package conflict keeps write conflicts, which aren't failures, out of logs and failure metrics: another client has
// written the object first.
package conflict

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// retry is when an object that another client has changed is requeued. The cache usually has the change by then.
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
