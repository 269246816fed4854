package hostnetwork_test

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conflicting answers writes with conflicts.
type conflicting struct {
	client.Client
	conflict func(key string) error
}

func (c *conflicting) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := c.conflict("create " + o.GetName()); err != nil {
		return err
	}
	return c.Client.Create(ctx, o, opts...)
}

func (c *conflicting) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if err := c.conflict("update " + o.GetName()); err != nil {
		return err
	}
	return c.Client.Update(ctx, o, opts...)
}

func (c *conflicting) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := c.conflict("patch " + o.GetName()); err != nil {
		return err
	}
	return c.Client.Patch(ctx, o, p, opts...)
}

func (c *conflicting) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if err := c.conflict("delete " + o.GetName()); err != nil {
		return err
	}
	return c.Client.Delete(ctx, o, opts...)
}
