package credentials

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// usersIndex finds objects by the namespace and name of their Secret, which may be in another namespace.
const usersIndex = "credentials"

// Users are the objects of one kind that log in with Secrets.
type Users struct {
	// Kind is an empty object, and List an empty list.
	Kind client.Object
	List client.ObjectList
	// Title is the kind in messages, such as "ToyClusters".
	Title string
	// SecretOf names the Secret of an object.
	SecretOf func(client.Object) types.NamespacedName
}

// Index lets a manager's cache find them.
func (u Users) Index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, u.Kind, usersIndex, func(o client.Object) []string { return []string{u.SecretOf(o).String()} })
	if err != nil {
		return fmt.Errorf("index %s by Secret: %w", u.Title, err)
	}
	return nil
}

// Of lists those that log in with a Secret.
func (u Users) Of(ctx context.Context, c client.Reader, secret types.NamespacedName) (users []client.Object, _ error) {
	list := u.List.DeepCopyObject().(client.ObjectList)
	err := c.List(ctx, list, client.MatchingFields{usersIndex: secret.String()})
	if err == nil {
		err = meta.EachListItem(list, func(o runtime.Object) error {
			users = append(users, o.(client.Object))
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list the %s that use Secret %s: %w", u.Title, secret, err)
	}
	return users, nil
}

// InUse says for a Guard whether any of them logs in with a Secret.
func (u Users) InUse(c client.Reader) func(context.Context, types.NamespacedName) (bool, error) {
	return func(ctx context.Context, secret types.NamespacedName) (bool, error) {
		users, err := u.Of(ctx, c, secret)
		return len(users) > 0, err
	}
}

// Enqueue those that log in with a Secret.
func (u Users) Enqueue(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, secret client.Object) (requests []reconcile.Request) {
		users, err := u.Of(ctx, c, client.ObjectKeyFromObject(secret))
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the "+u.Title+" that use the Secret")
		}
		for _, user := range users {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(user)})
		}
		return requests
	}
}
