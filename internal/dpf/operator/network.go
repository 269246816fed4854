package operator

import (
	"context"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
)

// Network moves the network of the workers onto their DPUs, and back where the configuration is deleted or wants none.
type Network interface {
	// Reconcile takes the next steps. Awake is since when the operator does so without a pause.
	Reconcile(_ context.Context, _ *operatorv1.DPFOperatorConfig, awake time.Time) (hostnetwork.Result, error)
	// Left is what isn't as it was before the move: nothing, before it has begun.
	Left(context.Context) ([]string, error)
}

var noNetwork netip.Prefix

// moveNetwork on. It begins only with all prerequisites and with components that are ready; once it has begun it goes on, whatever becomes
// of them: a node in between has no network.
func (w *round) moveNetwork(ctx context.Context, ready bool) error {
	wanted := w.config.Spec.HostNetworkConfiguration != nil
	if len(w.left) == 0 {
		w.config.Status.Nodes = nil
		switch {
		case !wanted:
			w.done(operatorv1.HostNetworkConfiguredCondition, "no network is to be moved")
			return nil
		case !w.report.Network():
			w.pending(operatorv1.HostNetworkConfiguredCondition, "it waits for the prerequisites")
			return nil
		case !ready:
			w.pending(operatorv1.HostNetworkConfiguredCondition, "it waits for the system components on the host cluster")
			return nil
		}
	}
	result, err := w.step(ctx)
	if err == nil && !wanted {
		w.pending(operatorv1.HostNetworkConfiguredCondition, "the network moves back")
		if result.Condition.Reason == operatorv1.ReasonFailure {
			w.set(condition(operatorv1.HostNetworkConfiguredCondition, operatorv1.ReasonFailure, result.Condition.Message))
		}
		if result.Done {
			w.again = soon // and then what it needed goes
		}
	}
	return err
}

// step of the move, or of the way back.
func (w *round) step(ctx context.Context) (hostnetwork.Result, error) {
	result, err := w.Network.Reconcile(ctx, w.config, w.awake)
	if err != nil {
		if w.config.DeletionTimestamp.IsZero() && !apierrors.IsConflict(err) { // after one the step is decided once more
			w.failed(operatorv1.HostNetworkConfiguredCondition, err)
		}
		return result, err
	}
	w.config.Status.Nodes = result.Nodes
	w.forget(operatorv1.RestoredCondition)
	w.set(result.Condition)
	if result.RequeueAfter > 0 {
		w.again = min(w.again, result.RequeueAfter)
	}
	return result, nil
}
