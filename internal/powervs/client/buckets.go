package client

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/IBM/ibm-cos-sdk-go/aws"
	"github.com/IBM/ibm-cos-sdk-go/aws/client"
	"github.com/IBM/ibm-cos-sdk-go/aws/credentials"
	"github.com/IBM/ibm-cos-sdk-go/aws/defaults"
	"github.com/IBM/ibm-cos-sdk-go/service/s3"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// Bucket says where objects are: a bucket of an instance of Object Storage, in a region.
type Bucket struct{ InstanceID, Region, Name string }

// SignedFor is how long a URL of PresignGet is good.
const SignedFor = time.Hour

// bucketName keeps the name from being another path.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// HeadBucket asks whether a bucket exists. NotFound means that no account has one of the name. Credentials may mean that another account
// has it, too.
func (c *Client) HeadBucket(ctx context.Context, bucket Bucket) error {
	return c.askBucket(ctx, bucket, call{op: "head bucket", classify: withoutWords}, func(ctx context.Context, to *s3.S3) error {
		_, err := to.HeadBucketWithContext(ctx, &s3.HeadBucketInput{Bucket: &bucket.Name})
		return err
	})
}

// withoutWords classifies an answer to HEAD, which has no body.
func withoutWords(a httpclient.Answer) httpclient.Meaning {
	m := classify(a)
	switch a.Status {
	case http.StatusNotFound:
		m.Class = fault.NotFound
	case http.StatusForbidden:
		m.Hint = " (is the bucket another account's, or does the API key lack the rights?)"
	}
	return m
}

// CreateBucket makes a bucket. Conflict means that there is one of the name, here or in another account.
func (c *Client) CreateBucket(ctx context.Context, bucket Bucket) error {
	return c.askBucket(ctx, bucket, call{op: "create bucket", create: true}, func(ctx context.Context, to *s3.S3) error {
		_, err := to.CreateBucketWithContext(ctx, &s3.CreateBucketInput{Bucket: &bucket.Name, IBMServiceInstanceId: &bucket.InstanceID})
		return err
	})
}

// DeleteBucket deletes a bucket at once. Busy means that it has objects.
func (c *Client) DeleteBucket(ctx context.Context, bucket Bucket) error {
	return c.askBucket(ctx, bucket, call{op: "delete bucket"}, func(ctx context.Context, to *s3.S3) error {
		_, err := to.DeleteBucketWithContext(ctx, &s3.DeleteBucketInput{Bucket: &bucket.Name})
		return err
	})
}

// PutObject writes an object, and replaces what has the key. NotFound means that there is no bucket.
func (c *Client) PutObject(ctx context.Context, bucket Bucket, key string, data []byte) error {
	return c.askBucket(ctx, bucket, call{op: "put object"}, func(ctx context.Context, to *s3.S3) error {
		_, err := to.PutObjectWithContext(ctx, &s3.PutObjectInput{Bucket: &bucket.Name, Key: &key, Body: bytes.NewReader(data)})
		return err
	})
}

// HeadObject asks whether an object exists. NotFound means that it doesn't, or that there is no bucket.
func (c *Client) HeadObject(ctx context.Context, bucket Bucket, key string) error {
	return c.askBucket(ctx, bucket, call{op: "head object", classify: withoutWords}, func(ctx context.Context, to *s3.S3) error {
		_, err := to.HeadObjectWithContext(ctx, &s3.HeadObjectInput{Bucket: &bucket.Name, Key: &key})
		return err
	})
}

// DeleteObject deletes an object at once. That there is none is no error; NotFound means that there is no bucket.
func (c *Client) DeleteObject(ctx context.Context, bucket Bucket, key string) error {
	return c.askBucket(ctx, bucket, call{op: "delete object"}, func(ctx context.Context, to *s3.S3) error {
		_, err := to.DeleteObjectWithContext(ctx, &s3.DeleteObjectInput{Bucket: &bucket.Name, Key: &key})
		return err
	})
}

// askBucket makes a call about a bucket, which is gone with its instance.
func (c *Client) askBucket(ctx context.Context, bucket Bucket, r call, send func(context.Context, *s3.S3) error) error {
	if !bucketName.MatchString(bucket.Name) {
		return &fault.Error{Class: fault.Invalid, Op: r.op, Err: fmt.Errorf("%q is not the name of a bucket", bucket.Name)}
	}
	r.place, r.ids = place{ServiceCOS, bucket.Region}, []string{bucket.InstanceID}
	r.send = func(ctx context.Context, to *api) error { return send(ctx, to.cos) }
	r.control = within(c.exists(bucket.InstanceID), func(ctx context.Context) error {
		return c.do(ctx, listBuckets(bucket, new(bucketList)))
	})
	return c.ask(ctx, r)
}

// HasBucket asks whether the bucket is in its instance. Keys of another one sign nothing that is in it.
func (c *Client) HasBucket(ctx context.Context, bucket Bucket) (bool, error) {
	var list bucketList
	r := listBuckets(bucket, &list)
	r.control = ifGone(c.exists(bucket.InstanceID))
	if err := c.ask(ctx, r); err != nil {
		return false, err
	}
	return slices.Contains(list.Names, bucket.Name), nil
}

// listBuckets is a call for the names of all buckets of an instance.
func listBuckets(bucket Bucket, into *bucketList) call {
	return call{
		place: place{ServiceCOS, bucket.Region}, op: "list buckets", ids: []string{bucket.InstanceID}, read: into.read,
		send: func(ctx context.Context, to *api) error {
			_, err := to.cos.ListBucketsWithContext(ctx, &s3.ListBucketsInput{IBMServiceInstanceId: &bucket.InstanceID})
			return err
		},
	}
}

// bucketList are the buckets of an instance.
type bucketList struct {
	XMLName xml.Name `xml:"ListAllMyBucketsResult"`
	Names   []string `xml:"Buckets>Bucket>Name"`
}

// read the list. Each attempt starts over.
func (l *bucketList) read(b *bounds.Body) error {
	text, err := b.Whole(bounds.MaxObject)
	if err != nil {
		return err
	}
	*l = bucketList{}
	if xml.Unmarshal(text, l) != nil {
		return errors.New("unexpected answer: it is no list of buckets")
	}
	return nil
}

// PresignGet returns a URL by which anyone can read an object for SignedFor. It is a secret. The HMAC key that signs it is read from the
// service.
func (c *Client) PresignGet(ctx context.Context, bucket Bucket, key, hmacKeyID string) (string, error) {
	const op = "presign URL"
	invalid := func(err error) error { return &fault.Error{Class: fault.Invalid, Op: op, Err: err} }
	to, err := c.at(place{ServiceCOS, bucket.Region})
	if err != nil {
		return "", invalid(err)
	}
	signer, err := c.resourceKey(ctx, hmacKeyID)
	if err != nil {
		return "", err
	}
	hmac := signer.Credentials.HMAC
	if hmac.AccessKeyID == "" || hmac.SecretAccessKey == "" {
		return "", invalid(errors.New("resource key " + hmacKeyID + " isn't an HMAC key, or its secret isn't shown to this API key"))
	}
	signed := s3.New(endpoint{to.Base().String(), bucket.Region},
		aws.NewConfig().WithCredentials(credentials.NewStaticCredentials(hmac.AccessKeyID, hmac.SecretAccessKey, "")))
	request, _ := signed.GetObjectRequest(&s3.GetObjectInput{Bucket: &bucket.Name, Key: &key})
	url, err := request.Presign(SignedFor)
	if err != nil {
		return "", invalid(errors.New("bucket or key can't be signed"))
	}
	return url, nil
}

// newS3 makes what calls Object Storage. The login is that of the transport.
func newS3(url, region string, sender *http.Client) *s3.S3 {
	return s3.New(endpoint{url, region}, aws.NewConfig().WithCredentials(credentials.AnonymousCredentials).WithHTTPClient(sender))
}

// endpoint takes the place of the SDK's session, which reads the environment and files of the user.
type endpoint struct{ url, region string }

// ClientConfig is that of a client of the endpoint, which repeats nothing.
func (e endpoint) ClientConfig(_ string, configs ...*aws.Config) client.Config {
	config := aws.NewConfig().WithEndpoint(e.url).WithRegion(e.region).WithS3ForcePathStyle(true).WithMaxRetries(0)
	config.MergeIn(configs...)
	return client.Config{Config: config, Handlers: defaults.Handlers(), Endpoint: e.url, SigningRegion: e.region, PartitionID: "aws"}
}
