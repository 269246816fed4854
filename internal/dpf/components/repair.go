package components

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Repair what others have changed in members of the Set. Nothing is created, deleted, or brought to another version: that is Apply's. An
// object that can't be repaired holds up no others; the error is of all of them.
func (s Set) Repair(ctx context.Context, wanted []*unstructured.Unstructured) error {
	if _, known, err := s.parent(ctx); err != nil || len(known) == 0 {
		return err // nothing is deployed
	}
	var problems []error
	for _, want := range wanted {
		if err := s.repair(ctx, want); err != nil {
			problems = append(problems, fmt.Errorf("repair %s: %w", identityOf(want), err))
		}
	}
	return errors.Join(problems...)
}

func (s Set) repair(ctx context.Context, want *unstructured.Unstructured) error {
	fields, err := s.fields(want)
	if err != nil {
		return err
	}
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(want.GroupVersionKind())
	err = s.Reader.Get(ctx, client.ObjectKeyFromObject(want), now)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return err
	case !IsMember(now), now.GetDeletionTimestamp() != nil,
		now.GetAnnotations()[appliedAnnotation] != fields.GetAnnotations()[appliedAnnotation]: // of another version or spec
		return nil
	}
	_, err = s.apply(ctx, want, now)
	return err
}
