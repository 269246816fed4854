package client

import (
	"context"
	"time"
)

// Bucket says where objects are: a bucket of an instance of Object Storage, in a region.
type Bucket struct{ InstanceID, Region, Name string }

// SignedFor is how long a URL of PresignGet is good.
const SignedFor = time.Hour

// HeadBucket asks whether a bucket exists. NotFound means that no account has one of the name. Credentials may mean that another account
// has it, too.
func (c *Client) HeadBucket(ctx context.Context, bucket Bucket) error { return errSurface }

// CreateBucket makes a bucket. Conflict means that there is one of the name, here or in another account.
func (c *Client) CreateBucket(ctx context.Context, bucket Bucket) error { return errSurface }

// DeleteBucket deletes a bucket at once. Busy means that it has objects.
func (c *Client) DeleteBucket(ctx context.Context, bucket Bucket) error { return errSurface }

// PutObject writes an object, and replaces what has the key.
func (c *Client) PutObject(ctx context.Context, bucket Bucket, key string, data []byte) error {
	return errSurface
}

// DeleteObject deletes an object at once. That there is none is no error; NotFound means that there is no bucket.
func (c *Client) DeleteObject(ctx context.Context, bucket Bucket, key string) error {
	return errSurface
}

// PresignGet returns a URL by which anyone can read an object for SignedFor. It is a secret. The HMAC key that signs it is read from the
// service.
func (c *Client) PresignGet(ctx context.Context, bucket Bucket, key, hmacKeyID string) (string, error) {
	return "", errSurface
}
