package patch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// retry is when an object that another client has changed is requeued. The cache usually has the change by then.
const retry = 50 * time.Millisecond

// ExpectConflicts returns a reconciler that tries again where the API server has refused a write because another client has written the
// object first. That is no failure, and stays out of logs and failure metrics.
func ExpectConflicts(inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := inner.Reconcile(ctx, request)
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: retry}, nil
		}
		return result, err
	})
}
