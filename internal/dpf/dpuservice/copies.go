package dpuservice

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// CopiesName of the ConfigMap that names the DPU clusters with copies of pull secrets. The operator makes it before the first one can be
// made, and a cluster is written into it before the first write into that cluster: so one that isn't in it has none, also while it doesn't
// answer.
const CopiesName = "dpf-pull-secret-copies"

func copies(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: CopiesName}}
}

// BeginCopies makes the record, before anything is deployed. It goes with its owner, and not before: until the finalizer is off, a deletion
// needs it. A record of a former owner says what that has left, and is taken over.
func BeginCopies(ctx context.Context, c client.Client, live client.Reader, owner client.Object) error {
	record := copies(owner.GetNamespace())
	if err := controllerutil.SetOwnerReference(owner, record, c.Scheme()); err != nil {
		return fmt.Errorf("own the record of copied pull secrets: %w", err)
	}
	err := c.Create(ctx, record)
	if apierrors.IsAlreadyExists(err) {
		return takeOver(ctx, c, live, owner)
	}
	if err != nil {
		return fmt.Errorf("make the record of copied pull secrets: %w", err)
	}
	return nil
}

func takeOver(ctx context.Context, c client.Client, live client.Reader, owner client.Object) error {
	record := copies(owner.GetNamespace())
	if err := live.Get(ctx, client.ObjectKeyFromObject(record), record); err != nil {
		return fmt.Errorf("read the record of copied pull secrets: %w", err)
	}
	before := record.DeepCopy()
	if err := controllerutil.SetOwnerReference(owner, record, c.Scheme()); err != nil {
		return fmt.Errorf("own the record of copied pull secrets: %w", err)
	}
	if equality.Semantic.DeepEqual(before.OwnerReferences, record.OwnerReferences) {
		return nil
	}
	if err := c.Patch(ctx, record, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("own the record of copied pull secrets: %w", err)
	}
	return nil
}

// EndCopies deletes the record when its owner is let go, or is gone. Where that fails, it is garbage.
func EndCopies(ctx context.Context, c client.Client, live client.Reader, owner client.Object) error {
	record := copies(owner.GetNamespace())
	if err := live.Get(ctx, client.ObjectKeyFromObject(record), record); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read the record of copied pull secrets: %w", err)
	}
	anothers := func(o metav1.OwnerReference) bool { return o.UID != owner.GetUID() }
	if slices.ContainsFunc(record.OwnerReferences, anothers) {
		return nil
	}
	err := c.Delete(ctx, record, client.Preconditions{UID: &record.UID, ResourceVersion: &record.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the record of copied pull secrets: %w", err)
	}
	return nil
}

// NoteCopies writes a cluster into the record. An installation of an earlier release has none, and gets none: it would miss clusters.
func NoteCopies(ctx context.Context, c client.Client, live client.Reader, namespace string, cluster types.NamespacedName) error {
	record, key := copies(namespace), clusterSecretName(cluster)
	if err := live.Get(ctx, client.ObjectKeyFromObject(record), record); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read the record of copied pull secrets: %w", err)
	}
	if _, noted := record.Data[key]; noted {
		return nil
	}
	before := record.DeepCopy()
	if record.Data == nil {
		record.Data = map[string]string{}
	}
	record.Data[key] = cluster.String()
	if err := c.Patch(ctx, record, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the record of copied pull secrets: %w", err)
	}
	return nil
}

// MayHaveCopies tells which clusters may have copies: without a record, all.
func MayHaveCopies(ctx context.Context, live client.Reader, namespace string) (func(types.NamespacedName) bool, error) {
	record := copies(namespace)
	err := live.Get(ctx, client.ObjectKeyFromObject(record), record)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the record of copied pull secrets: %w", err)
	}
	return func(cluster types.NamespacedName) bool {
		_, noted := record.Data[clusterSecretName(cluster)]
		return noted || err != nil
	}, nil
}
