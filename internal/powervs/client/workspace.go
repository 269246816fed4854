package client

import (
	"context"

	"github.com/go-openapi/runtime"
)

// powerAPI is PowerVS for a call about a workspace.
type powerAPI struct {
	*api
	in runtime.ClientAuthInfoWriter
}

// inWorkspace is a call about what is in a workspace. The objects of one that is gone are gone as well.
func (c *Client) inWorkspace(in Workspace, op string, send func(context.Context, *powerAPI) error, ids ...string) call {
	return call{
		place: place{ServicePowerVS, PowerVSRegion(in.Zone)}, op: op, ids: append(ids, in.Zone, in.ID), site: in.Zone,
		control: within(c.exists(in.ID), func(ctx context.Context) error {
			_, err := c.Networks(ctx, in)
			return err
		}),
		send: func(ctx context.Context, to *api) error {
			auth, err := c.in(ctx, in)
			if err != nil {
				return err
			}
			return send(ctx, &powerAPI{to, auth})
		},
	}
}

// listInWorkspace lists what is in a workspace. NotFound means that the workspace is gone.
func listInWorkspace[T identified](
	ctx context.Context, c *Client, in Workspace, op, key string, send func(context.Context, *powerAPI) error,
) ([]T, error) {
	r := c.inWorkspace(in, op, send)
	r.control = ifGone(c.exists(in.ID))
	one := r.send
	return list[T](ctx, c, r, key, func(ctx context.Context, to *api, _ *string) error { return one(ctx, to) })
}
