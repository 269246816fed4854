package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
)

var dpuServices = svcv1.GroupVersion.WithKind("DPUService")

// delete takes everything back, in the reverse order: the network, while all components work; then what users and the operator have on the DPU
// clusters, while the controllers that remove it work; then these. The copies of pull secrets go last: the controllers would make them again.
func (w *round) delete(ctx context.Context) (gone bool, _ error) {
	defer w.awaitDeletion()
	steps := []func(context.Context) (kind string, left []string, _ error){
		w.restoreNetwork, w.awaitUsers, w.cleanUp, w.awaitSets, w.removeServices, w.removeManifests, w.releaseVolume, w.awaitPods,
		w.removeSecrets,
	}
	if w.config.Annotations[operatorv1.AbandonAnnotation] == "true" {
		steps = []func(context.Context) (string, []string, error){
			w.abandonServices, w.removeServices, w.removeManifests, w.releaseVolume, w.abandon,
		}
	}
	for _, step := range steps {
		kind, left, err := step(ctx)
		if apierrors.IsConflict(err) {
			return false, err
		}
		if err != nil {
			w.failed(kind, err)
			return false, err
		}
		if len(left) > 0 {
			if kind != operatorv1.RestoredCondition { // that one says more
				w.waitsFor(kind, operatorv1.ReasonAwaitingDeletion, left)
			}
			return false, nil
		}
	}
	return true, nil
}

func (w *round) restoreNetwork(ctx context.Context) (kind string, left []string, _ error) {
	ensureErr := w.ensureHostCleanUp(ctx) // a node that waits for it in vain goes back all the same
	result, err := w.step(ctx)
	if err = errors.Join(err, ensureErr); err == nil && !result.Done {
		left = []string{"the network isn't back"}
	}
	if err == nil && result.Done && len(result.Reports) > 0 { // the condition goes with the object
		w.warn("NotRestored", strings.Join(result.Reports, "; "))
	}
	return operatorv1.RestoredCondition, left, err
}

// removeServices of the DPU clusters, and wait for them: the manifests on the host cluster remove what they have deployed.
func (w *round) removeServices(ctx context.Context) (kind string, left []string, _ error) {
	left, err := w.components(false).Remove(ctx, dpuServices.GroupKind())
	return operatorv1.SystemComponentsReconciledCondition, left, err
}

func (w *round) removeSecrets(ctx context.Context) (kind string, left []string, err error) {
	kind = operatorv1.ImagePullSecretsReconciledCondition
	if err := w.label(ctx, nil); err != nil {
		return kind, nil, err
	}
	if w.lookAtClusters(ctx); w.clustersErr != nil {
		return kind, nil, w.clustersErr
	}
	left, err = w.unmirror(ctx)
	return kind, left, err
}

// awaitPods of the controller that copies pull secrets: they outlive their Deployment.
func (w *round) awaitPods(ctx context.Context) (kind string, left []string, _ error) {
	kind = operatorv1.SystemComponentsReconciledCondition
	pods := &corev1.PodList{}
	of := client.MatchingLabels{"app.kubernetes.io/name": components.DPUServiceController}
	if err := w.List(ctx, pods, client.InNamespace(operatorv1.Namespace), of); err != nil {
		return kind, nil, fmt.Errorf("list the Pods of %s: %w", components.DPUServiceController, err)
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			left = append(left, fmt.Sprintf("Pod %s, which may copy pull secrets", client.ObjectKeyFromObject(&pod)))
		}
	}
	return kind, left, nil
}

// unmirror says which DPU clusters may still have copies.
func (w *round) unmirror(ctx context.Context) (left []string, _ error) {
	may, err := dpuservice.MayHaveCopies(ctx, w.Live, operatorv1.Namespace)
	if err != nil {
		return nil, err
	}
	for _, cluster := range slices.Concat(w.clusters, w.notAllowed) {
		err := cluster.Err
		if cluster.Client != nil {
			err = dpuservice.RemovePullSecrets(ctx, cluster.Client)
		} else if !may(cluster.Name) {
			continue
		}
		if err != nil {
			left = append(left, fmt.Sprintf("the pull secrets in DPU cluster %s: %v: the annotation %s=true leaves them there",
				cluster.Name, err, operatorv1.AbandonAnnotation))
		}
	}
	return left, nil
}

func (w *round) removeManifests(ctx context.Context) (kind string, left []string, _ error) {
	state, err := w.components(false).Apply(ctx, nil)
	return operatorv1.SystemComponentsReconciledCondition, state.Going, err
}

// abandonServices lets DPUServices go although a DPU cluster that they are in may be gone for good.
func (w *round) abandonServices(ctx context.Context) (kind string, left []string, _ error) {
	kind = operatorv1.SystemComponentsReconciledCondition
	services := &metav1.PartialObjectMetadataList{}
	services.SetGroupVersionKind(dpuServices)
	if err := w.Live.List(ctx, services, client.InNamespace(operatorv1.Namespace), components.Members); err != nil {
		return kind, nil, fmt.Errorf("list the DPUServices: %w", err)
	}
	for i := range services.Items {
		service := &services.Items[i]
		service.SetGroupVersionKind(dpuServices)
		if service.Annotations[svcv1.AbandonAnnotation] == "true" || !components.IsMember(service) {
			continue
		}
		before := service.DeepCopy()
		metav1.SetMetaDataAnnotation(&service.ObjectMeta, svcv1.AbandonAnnotation, "true")
		err := w.Patch(ctx, service, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if client.IgnoreNotFound(err) != nil {
			return kind, nil, fmt.Errorf("abandon DPUService %s: %w", service.Name, err)
		}
	}
	return kind, nil, nil
}

// abandon the network, what users have, and the copies of pull secrets in DPU clusters. An event names what is left.
func (w *round) abandon(ctx context.Context) (kind string, left []string, _ error) {
	kind = operatorv1.ImagePullSecretsReconciledCondition
	if err := w.label(ctx, nil); err != nil {
		return kind, nil, err
	}
	abandoned, err := w.Network.Left(ctx)
	if err != nil {
		abandoned = []string{"it isn't known what of the network: " + err.Error()}
	}
	if w.lookAtClusters(ctx); w.clustersErr != nil {
		abandoned = append(abandoned, "it isn't known in which DPU clusters pull secrets: "+w.clustersErr.Error())
	}
	users, err := w.users(ctx)
	if err != nil {
		users = []string{"it isn't known what of users: " + err.Error()}
	}
	copies, err := w.unmirror(ctx)
	if err != nil {
		return kind, nil, err
	}
	if abandoned = slices.Concat(abandoned, users, copies); len(abandoned) > 0 {
		w.warn("Abandoned", "it is left: "+strings.Join(abandoned, "; "))
	}
	return kind, nil, nil
}

func (w *round) warn(reason, note string) {
	w.Events.Eventf(w.config, nil, corev1.EventTypeWarning, reason, "Delete", "%s", shorten(note, maxEvent))
}

// awaitDeletion sums up a deletion: Ready says what it waits for.
func (w *round) awaitDeletion() {
	message := "it is being deleted"
	for _, kind := range []string{
		operatorv1.RestoredCondition, operatorv1.ImagePullSecretsReconciledCondition, operatorv1.SystemComponentsReconciledCondition,
	} {
		if c := w.find(kind); c != nil && c.Reason != operatorv1.ReasonSuccess && c.ObservedGeneration == w.config.Generation {
			message = kind + ": " + c.Message
			break
		}
	}
	w.set(condition(operatorv1.ReadyCondition, operatorv1.ReasonAwaitingDeletion, message))
}
