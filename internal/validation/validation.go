// Package validation makes admission webhooks of the rules of a kind. They answer as the API server itself does, with all problems of
// an object at once.
package validation

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Rules of a kind. Only the operations that the webhook's markers name are checked.
type Rules[T client.Object] struct {
	// Created returns the problems of a new object. Optional.
	Created func(context.Context, T) field.ErrorList
	// Updated returns the problems of a change. An error means that they aren't known, and refuses it, too.
	Updated func(ctx context.Context, before, after T) (field.ErrorList, error)
	// Warned returns warnings about an object that is valid all the same. An update repeats none that its writer has seen. Optional.
	Warned func(T) []string
	// Changed returns warnings about a change. Optional.
	Changed func(before, after T) []string
}

// Register the webhook of an object's kind with the manager's webhook server.
func Register[T client.Object](mgr ctrl.Manager, object T, rules Rules[T]) error {
	kind, err := apiutil.GVKForObject(object, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("register a webhook: %w", err)
	}
	return ctrl.NewWebhookManagedBy(mgr, object).WithValidator(validator[T]{rules, kind.GroupKind()}).Complete()
}

// New leaves out the problems that an object had before a change, so that it can still be changed otherwise, and deleted.
func New(before, after field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(after, func(problem *field.Error) bool {
		return slices.ContainsFunc(before, func(b *field.Error) bool { return b.Error() == problem.Error() })
	})
}

type validator[T client.Object] struct {
	Rules[T]
	kind schema.GroupKind
}

func (v validator[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	var problems field.ErrorList
	if v.Created != nil {
		problems = v.Created(ctx, object)
	}
	return v.warnings(object), v.refuse(object, problems)
}

func (v validator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	problems, err := v.Updated(ctx, before, after)
	if err != nil {
		return nil, err
	}
	seen := v.warnings(before)
	warnings := slices.DeleteFunc(v.warnings(after), func(w string) bool { return slices.Contains(seen, w) })
	if v.Changed != nil {
		warnings = append(warnings, v.Changed(before, after)...)
	}
	return warnings, v.refuse(after, problems)
}

func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (v validator[T]) warnings(object T) []string {
	if v.Warned == nil {
		return nil
	}
	return v.Warned(object)
}

func (v validator[T]) refuse(object T, problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v.kind, object.GetName(), problems)
}
