package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
)

// boundByController is Kubernetes' annotation of a volume whose claimRef isn't the administrator's.
const boundByController = "pv.kubernetes.io/bound-by-controller"

// releaseVolume makes bfbPersistentVolume as it was before a claim was bound to it. Otherwise it would stay Released, which no claim can be
// bound to. A volume that Kubernetes deletes or empties by itself isn't touched.
func (w *round) releaseVolume(ctx context.Context) (kind string, left []string, _ error) {
	kind = operatorv1.SystemComponentsReconciledCondition
	volume := &corev1.PersistentVolume{}
	if err := w.Live.Get(ctx, client.ObjectKey{Name: w.config.Spec.BFBPersistentVolume}, volume); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return kind, nil, nil
		}
		return kind, nil, fmt.Errorf("read PersistentVolume %s: %w", w.config.Spec.BFBPersistentVolume, err)
	}
	claim := volume.Spec.ClaimRef
	if claim == nil || claim.Namespace != operatorv1.Namespace || claim.Name != components.BFBClaim || claim.UID == "" ||
		volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		return kind, nil, nil
	}
	before := volume.DeepCopy()
	claim.UID, claim.ResourceVersion = "", ""
	if metav1.HasAnnotation(volume.ObjectMeta, boundByController) {
		volume.Spec.ClaimRef = nil
		delete(volume.Annotations, boundByController)
	}
	err := w.Patch(ctx, volume, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return kind, nil, fmt.Errorf("release PersistentVolume %s: %w", volume.Name, err)
	}
	return kind, nil, nil
}
