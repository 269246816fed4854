package components

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Repair what others have changed in members of the Set. Nothing is created, deleted, or brought to another version: that is Apply's. An
// object that can't be repaired holds up no others; the error is of all of them.
func (s Set) Repair(ctx context.Context, wanted []*unstructured.Unstructured) error {
	members, _, err := s.list(ctx, kindsOf(wanted))
	problems := []error{err}
	for _, want := range wanted {
		if err := s.repair(ctx, want, members[identityOf(want)]); err != nil {
			problems = append(problems, fmt.Errorf("repair %s: %w", identityOf(want), err))
		}
	}
	return errors.Join(problems...)
}

func (s Set) repair(ctx context.Context, want, now *unstructured.Unstructured) error {
	fields, err := s.fields(want)
	if err != nil {
		return err
	}
	if now == nil || now.GetDeletionTimestamp() != nil ||
		now.GetAnnotations()[appliedAnnotation] != fields.GetAnnotations()[appliedAnnotation] { // of another version or spec
		return nil
	}
	_, err = s.apply(ctx, want, now)
	return err
}

// Ensure that these objects are as they are wanted, and leave all others as they are.
func (s Set) Ensure(ctx context.Context, wanted []*unstructured.Unstructured) error {
	members, _, err := s.list(ctx, kindsOf(wanted))
	problems := []error{err}
	for _, want := range wanted {
		now := members[identityOf(want)]
		if now != nil && now.GetDeletionTimestamp() != nil { // afterwards it is created
			continue
		}
		if _, err := s.apply(ctx, want, now); err != nil {
			problems = append(problems, fmt.Errorf("apply %s: %w", identityOf(want), err))
		}
	}
	return errors.Join(problems...)
}
