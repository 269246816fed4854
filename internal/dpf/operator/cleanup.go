package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
)

// cleanUp has the provisioners on DPUs take back what they have made, and says where they haven't: their component stays until then. What
// doesn't answer is waited for as long as a node is, and then told.
func (w *round) cleanUp(ctx context.Context) (kind string, left []string, _ error) {
	kind = operatorv1.SystemComponentsReconciledCondition
	since, err := w.components(false).CleanUp(ctx, w.Release, w.Clock.Now())
	if err != nil || since.IsZero() {
		return kind, nil, err
	}
	if w.lookAtClusters(ctx); w.clustersErr != nil {
		return kind, nil, w.clustersErr
	}
	service := types.NamespacedName{Namespace: operatorv1.Namespace, Name: string(operatorv1.ComponentDPUCNIProvisioner)}
	deployed, err := dpuservice.Deployed(ctx, w.Live, service)
	if err != nil {
		return kind, nil, err
	}
	may, err := dpuservice.MayHaveCopies(ctx, w.Live, operatorv1.Namespace)
	if err != nil {
		return kind, nil, err
	}
	for _, cluster := range slices.Concat(w.clusters, w.notAllowed) {
		why, err := "", cluster.Err
		if cluster.Client != nil {
			why, err = unclean(ctx, cluster.Client)
		} else if !deployed[cluster.Name] && !may(cluster.Name) { // it has never answered
			continue
		}
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			left = append(left, fmt.Sprintf("the clean-up after the provisioners in DPU cluster %s: %s", cluster.Name, why))
		}
	}
	if w.awake.After(since) { // what was paused, or away, made no DPU late
		since = w.awake
	}
	if len(left) > 0 && w.Clock.Since(since) > hostnetwork.Timeout(w.config) {
		w.warn("NotRestored", "it isn't known whether what the provisioners have made is gone: "+strings.Join(left, "; "))
		return kind, nil, nil
	}
	return kind, left, nil
}

// ensureHostCleanUp while something of the network isn't back: an operator that was upgraded on the way back finds the provisioner of an
// earlier release, which doesn't leave its nodes, and nothing that cleans up there.
func (w *round) ensureHostCleanUp(ctx context.Context) error {
	changed, now := w.Changed.Swap(false), w.Clock.Now()
	if !changed && w.ensured.of == w.config.UID && now.Sub(w.ensured.at) < w.Poll {
		return nil
	}
	w.ensured = ensured{}
	left, err := w.Network.Left(ctx)
	if err == nil && len(left) > 0 {
		var wanted []*unstructured.Unstructured
		if wanted, err = w.Release.HostCleanUp(w.config); err == nil {
			err = w.components(true).Ensure(ctx, wanted)
		}
	}
	if err == nil {
		w.ensured = ensured{w.config.UID, now}
	}
	return err
}

// ensured is the last time that the clean-up on hosts was.
type ensured struct {
	of types.UID
	at time.Time
}

// unclean says what the clean-up in a DPU cluster waits for.
func unclean(ctx context.Context, c client.Client) (why string, _ error) {
	var sets appsv1.DaemonSetList
	if err := c.List(ctx, &sets, client.InNamespace(operatorv1.Namespace)); err != nil {
		return "", fmt.Errorf("list the DaemonSets: %w", err)
	}
	for i := range sets.Items {
		set, labels := &sets.Items[i], sets.Items[i].Spec.Template.Labels
		if labels[svcv1.ServiceIDLabel] != string(operatorv1.ComponentDPUCNIProvisioner) {
			continue
		}
		if _, told := labels[operatorv1.NetworkCleanUpLabel]; !told || set.Status.ObservedGeneration != set.Generation {
			return fmt.Sprintf("DaemonSet %s isn't synced", set.Name), nil
		}
		all, clean := set.Status.DesiredNumberScheduled, min(set.Status.UpdatedNumberScheduled, set.Status.NumberReady)
		if clean < all {
			return fmt.Sprintf("DaemonSet %s: %d of %d DPUs are clean", set.Name, clean, all), nil
		}
	}
	return "", nil
}
