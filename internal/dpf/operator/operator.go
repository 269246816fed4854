// Package operator reconciles the DPFOperatorConfig: it checks the prerequisites, deploys the components, has the network of the workers
// moved onto their DPUs, and takes all of that back. It waits for nothing: what isn't there yet is looked at again.
package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/preflight"
	"github.com/bedplate/bedplate/internal/patch"
)

// Reconciler of the DPFOperatorConfig. All fields are required.
type Reconciler struct {
	client.Client
	// Live reads the host cluster past any cache.
	Live client.Reader
	// Check the prerequisites.
	Check func(context.Context, *operatorv1.DPFOperatorConfig, []preflight.DPUCluster) preflight.Report
	// Clusters are all DPU clusters, and those that are refused, as they are now.
	Clusters func(context.Context) (all, refused []dpucluster.Cluster, _ error)
	// Network moves that of the workers.
	Network Network
	// Release says where images and charts are.
	Release components.Release
	Events  events.EventRecorder
	Clock   clock.PassiveClock
	// Poll is how often something is looked at that waits, and of which no event may come.
	Poll time.Duration

	// Changed says that a component has changed since it was looked at.
	Changed atomic.Bool

	checked checked
	settled settled
	ensured ensured
	// seen is the resourceVersion of the configuration after the last look.
	seen string
	// awake is since when it is at work without a pause; zero: it isn't.
	awake time.Time
}

// checked is the last look at the prerequisites.
type checked struct {
	of     types.UID
	spec   int64
	at     time.Time
	report preflight.Report
}

// round is one reconcile.
type round struct {
	*Reconciler
	config   *operatorv1.DPFOperatorConfig
	clusters []dpucluster.Cluster
	// notAllowed are DPU clusters that get nothing any more.
	notAllowed []dpucluster.Cluster
	// clustersErr is why clusters aren't known.
	clustersErr error
	report      preflight.Report
	// left is what of the network isn't as it was before.
	left []string
	// again is when the next look is due; 0: never.
	again time.Duration
}

// Reconcile the configuration.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	config := &operatorv1.DPFOperatorConfig{}
	if err := r.read(ctx, req.NamespacedName, config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := config.DeepCopy()
	w := &round{Reconciler: r, config: config, again: r.Poll}
	if r.awake.IsZero() {
		r.awake = r.Clock.Now()
	}
	var err error
	switch deleted := !config.DeletionTimestamp.IsZero(); {
	case config.Spec.Paused:
		r.awake = time.Time{}
		w.paused()
	case deleted && !slices.Contains(config.Finalizers, operatorv1.Finalizer):
		return ctrl.Result{}, nil
	case deleted:
		var gone bool
		if gone, err = w.delete(ctx); gone && err == nil {
			return ctrl.Result{}, r.end(ctx, config)
		}
	default:
		if !slices.Contains(config.Finalizers, operatorv1.Finalizer) { // nothing is deployed yet
			if err := dpuservice.BeginCopies(ctx, r.Client, r.Live, config); err != nil {
				return ctrl.Result{}, err
			}
		}
		if err := patch.AddFinalizer(ctx, r.Client, config, operatorv1.Finalizer); err != nil {
			return ctrl.Result{}, err
		}
		err = w.install(ctx)
		w.sum()
	}
	config.Status.ObservedGeneration = config.Generation
	err = errors.Join(err, patch.Status(ctx, r.Client, before, config))
	if r.seen = config.ResourceVersion; err != nil {
		return ctrl.Result{}, err
	}
	observePhases(before.Status.Nodes, config.Status.Nodes, r.Clock.Now())
	return ctrl.Result{RequeueAfter: w.again}, nil
}

// end of a configuration of which nothing is left.
func (r *Reconciler) end(ctx context.Context, config *operatorv1.DPFOperatorConfig) error {
	if err := patch.RemoveFinalizer(ctx, r.Client, config, operatorv1.Finalizer); err != nil {
		return err
	}
	return dpuservice.EndCopies(ctx, r.Client, r.Live, config)
}

// read the configuration: from the cache, unless that has another version than the one that was seen or written last. It may be older then,
// and all writes would be refused.
func (r *Reconciler) read(ctx context.Context, key types.NamespacedName, config *operatorv1.DPFOperatorConfig) error {
	if err := r.Get(ctx, key, config); err != nil {
		return err
	}
	if config.ResourceVersion == r.seen {
		return nil
	}
	return r.Live.Get(ctx, key, config)
}

// install everything, as far as its prerequisites are met. What fails holds up what needs it, and nothing else.
func (w *round) install(ctx context.Context) error {
	var err error
	if w.left, err = w.Network.Left(ctx); err != nil {
		w.failed(operatorv1.HostNetworkConfiguredCondition, err)
		return err
	}
	w.lookAtClusters(ctx)
	w.lookAtPrerequisites(ctx)
	ready, componentsErr := w.reconcileComponents(ctx)
	return errors.Join(w.clustersErr, componentsErr, w.moveNetwork(ctx, ready))
}

// lookAtPrerequisites again if the spec has changed, or after a while.
func (w *round) lookAtPrerequisites(ctx context.Context) {
	c := &w.checked
	if c.of != w.config.UID || c.spec != w.config.Generation || w.Clock.Since(c.at) >= w.Poll {
		var clusters []preflight.DPUCluster
		for _, cluster := range w.clusters {
			clusters = append(clusters, preflight.DPUCluster{Name: cluster.Name, Reader: cluster.Client, Err: cluster.Err})
		}
		if w.clustersErr != nil {
			clusters = append(clusters, preflight.DPUCluster{Err: w.clustersErr})
		}
		report := w.Check(ctx, w.config, clusters)
		*c = checked{of: w.config.UID, spec: w.config.Generation, at: w.Clock.Now(), report: report}
	}
	w.report = c.report
	w.set(w.report.Condition())
}

// lookAtClusters says which DPU clusters there are, and which of them answer.
func (w *round) lookAtClusters(ctx context.Context) {
	all, refused, err := w.Clusters(ctx)
	if w.clustersErr = err; err != nil {
		w.failed(operatorv1.DPUClustersReachableCondition, err)
		return
	}
	w.clusters, w.config.Status.DPUClusters = all, nil
	var silent []string
	w.notAllowed = dpucluster.NotAllowed(slices.Clone(refused))
	for i, cluster := range slices.Concat(all, refused) {
		if i == maxClusters {
			break
		}
		status := operatorv1.DPUClusterStatus{Namespace: cluster.Name.Namespace, Name: cluster.Name.Name, Reachable: cluster.Err == nil}
		if cluster.Err != nil {
			status.Message = shorten(cluster.Err.Error(), maxClusterMessage)
		}
		if cluster.Err != nil && i < len(all) { // one that is refused holds up nothing
			silent = append(silent, cluster.Name.String()+": "+status.Message)
		}
		w.config.Status.DPUClusters = append(w.config.Status.DPUClusters, status)
	}
	if len(all) == 0 {
		silent = []string{"there is no DPU cluster"}
		for _, cluster := range w.notAllowed {
			silent = append(silent, fmt.Sprintf("%s: %v", cluster.Name, cluster.Err))
		}
	}
	w.waits(operatorv1.DPUClustersReachableCondition, silent)
}

// deploy the components, and say whether those of the host cluster are ready: the network needs them.
func (w *round) deploy(ctx context.Context) (ready bool, _ error) {
	host, dpus, network, err := w.render(ctx)
	if err != nil {
		w.set(condition(operatorv1.SystemComponentsReconciledCondition, operatorv1.ReasonFailure, err.Error()))
		w.pending(operatorv1.SystemComponentsReadyCondition, "they aren't deployed")
		return false, nil // another spec has other manifests
	}
	keep := w.keep()
	var unclean []string
	if !keep && !w.withNetwork() {
		if _, unclean, err = w.cleanUp(ctx); err != nil {
			w.failed(operatorv1.SystemComponentsReconciledCondition, err)
			return false, err
		}
	}
	state, err := w.components(keep || len(unclean) > 0).Apply(ctx, slices.Concat(host, dpus, network))
	if err != nil {
		w.failed(operatorv1.SystemComponentsReconciledCondition, err)
	} else {
		w.waitsFor(operatorv1.SystemComponentsReconciledCondition, operatorv1.ReasonAwaitingDeletion, slices.Concat(unclean, state.Going))
	}
	if len(state.Objects) == 0 {
		w.pending(operatorv1.SystemComponentsReadyCondition, "they aren't deployed")
		return false, err
	}
	unready := waiting(state.Objects[:len(host)])
	w.waits(operatorv1.SystemComponentsReadyCondition, slices.Concat(unready, waiting(state.Objects[len(host):len(host)+len(dpus)])))
	return err == nil && len(unready) == 0, err
}

// render the components: those of the network only if it may be moved, or has begun to be.
func (w *round) render(ctx context.Context) (host, dpus, network []*unstructured.Unstructured, err error) {
	if host, err = w.Release.Render(w.config, components.HostCluster, false, noNetwork); err != nil {
		return nil, nil, nil, err
	}
	if dpus, err = w.Release.Render(w.config, components.DPUClusters, false, noNetwork); err != nil {
		return nil, nil, nil, err
	}
	if w.keep() {
		network, err = w.Release.HostCleanUp(w.config)
		return host, dpus, network, err
	}
	if !w.withNetwork() {
		return host, dpus, nil, nil
	}
	machines, err := preflight.Machines(ctx, w.Live)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, place := range []components.Place{components.HostCluster, components.DPUClusters} {
		more, err := w.Release.Render(w.config, place, true, machines)
		if err != nil {
			return nil, nil, nil, err
		}
		network = append(network, more...)
	}
	return host, dpus, network, nil
}

// withNetwork says whether the network's components are wanted.
func (w *round) withNetwork() bool {
	return w.config.Spec.HostNetworkConfiguration != nil && (w.report.Network() || len(w.left) > 0)
}

// keep what isn't wanted any more: nodes on their way back have provisioners.
func (w *round) keep() bool { return w.config.Spec.HostNetworkConfiguration == nil && len(w.left) > 0 }

func (w *round) components(keep bool) components.Set {
	return components.Set{Client: w.Client, Reader: w.Live, Owner: w.config, Keep: keep}
}

// waiting objects, and what for.
func waiting(objects []*unstructured.Unstructured) (all []string) {
	for _, o := range objects {
		if o == nil {
			all = append(all, "a component couldn't be applied")
			continue
		}
		why, err := components.Waiting(o)
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			all = append(all, why)
		}
	}
	return all
}
