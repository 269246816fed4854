package client

import "context"

// HeadObject asks whether an object exists. NotFound means that it doesn't, or that there is no bucket.
func (c *Client) HeadObject(ctx context.Context, bucket Bucket, key string) error { return errSurface }
