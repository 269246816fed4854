package operator

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
)

// pullSecrets of the spec get the label by which the DPUService controller copies them into all DPU clusters, and others lose it. They are
// reconciled when each cluster has these and no others.
func (w *round) pullSecrets(ctx context.Context) error {
	if err := w.label(ctx, w.config.Spec.ImagePullSecrets); err != nil {
		w.failed(operatorv1.ImagePullSecretsReconciledCondition, err)
		return err
	}
	if w.clustersErr != nil {
		w.failed(operatorv1.ImagePullSecretsReconciledCondition, w.clustersErr)
		return nil //nolint:nilerr // lookAtClusters has told it
	}
	w.waits(operatorv1.ImagePullSecretsReconciledCondition, w.unmirrored(ctx, w.config.Spec.ImagePullSecrets))
	return nil
}

// label these Secrets, and no others.
func (w *round) label(ctx context.Context, names []string) error {
	all := secrets()
	if err := w.Live.List(ctx, all, client.InNamespace(operatorv1.Namespace)); err != nil {
		return fmt.Errorf("list the Secrets in %s: %w", operatorv1.Namespace, err)
	}
	for i := range all.Items {
		secret := &all.Items[i]
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		_, has := secret.Labels[dpuservice.PullSecretLabel]
		wanted := slices.Contains(names, secret.Name)
		if has == wanted {
			continue
		}
		before := secret.DeepCopy()
		if wanted {
			metav1.SetMetaDataLabel(&secret.ObjectMeta, dpuservice.PullSecretLabel, "")
		} else {
			delete(secret.Labels, dpuservice.PullSecretLabel)
		}
		err := w.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("label Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
	}
	return nil
}

// unmirrored says what each DPU cluster still lacks of these Secrets, or has besides.
func (w *round) unmirrored(ctx context.Context, names []string) (problems []string) {
	for _, cluster := range w.clusters {
		if cluster.Client == nil {
			problems = append(problems, fmt.Sprintf("DPU cluster %s: %v", cluster.Name, cluster.Err))
			continue
		}
		copies := secrets()
		err := cluster.Client.List(ctx, copies, client.InNamespace(operatorv1.Namespace), dpuservice.Copies)
		if err != nil {
			problems = append(problems, fmt.Sprintf("DPU cluster %s: list the Secrets: %v", cluster.Name, err))
			continue
		}
		missing := slices.Clone(names)
		for _, secret := range copies.Items {
			if !slices.Contains(names, secret.Name) {
				problems = append(problems, fmt.Sprintf("DPU cluster %s still has Secret %s", cluster.Name, secret.Name))
			}
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == secret.Name })
		}
		for _, name := range missing {
			if problem := why(ctx, cluster.Client, name); problem != "" {
				problems = append(problems, fmt.Sprintf("DPU cluster %s %s", cluster.Name, problem))
			}
		}
	}
	return problems
}

// why a DPU cluster has no copy of a Secret.
func why(ctx context.Context, c client.Client, name string) string {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := client.ObjectKey{Namespace: operatorv1.Namespace, Name: name}
	err := c.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		return "has no Secret " + name
	case err != nil:
		return fmt.Sprintf("may have a Secret %s: %v", name, err)
	case dpuservice.IsCopy(secret): // by now
		return ""
	}
	return fmt.Sprintf("has a Secret %s that isn't a copy: rename or delete it there", key)
}

func secrets() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	return list
}
