package sim_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/IBM/ibm-cos-sdk-go/aws/credentials"
	v4 "github.com/IBM/ibm-cos-sdk-go/aws/signer/v4"
	"github.com/IBM/ibm-cos-sdk-go/service/s3"
	rc "github.com/IBM/platform-services-go-sdk/resourcecontrollerv2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// These tests are on loopback, because the SDK has timers that a garbage collector stops: no simulated time allows that.

const objectKey = "control-plane/demo 1+a" // what has to be escaped

func createBucket(c *s3.S3, name string) string {
	_, err := c.CreateBucket(&s3.CreateBucketInput{
		Bucket: &name, CreateBucketConfiguration: &s3.CreateBucketConfiguration{LocationConstraint: ptr.To("us-south-standard")}})
	return storageError(err)
}

func headBucket(c *s3.S3, name string) string {
	_, err := c.HeadBucket(&s3.HeadBucketInput{Bucket: &name})
	return storageError(err)
}

func deleteBucket(c *s3.S3, name string) string {
	_, err := c.DeleteBucket(&s3.DeleteBucketInput{Bucket: &name})
	return storageError(err)
}

func putObject(c *s3.S3, bucket, text string) string {
	_, err := c.PutObject(&s3.PutObjectInput{Bucket: &bucket, Key: ptr.To(objectKey), Body: strings.NewReader(text)})
	return storageError(err)
}

func deleteObject(c *s3.S3, bucket string) string {
	_, err := c.DeleteObject(&s3.DeleteObjectInput{Bucket: &bucket, Key: ptr.To(objectKey)})
	return storageError(err)
}

// presign returns a URL for an object.
func (n networks) presign(c *s3.S3, bucket string, expires time.Duration) string {
	request, _ := c.GetObjectRequest(&s3.GetObjectInput{Bucket: &bucket, Key: ptr.To(objectKey)})
	url, err := request.Presign(expires)
	n.Expect(err).NotTo(HaveOccurred())
	return url
}

// presignedAt is a URL for what another one is for, signed at that time for one hour.
func (n networks) presignedAt(at time.Time, accessKey, secretKey, url string) string {
	request, err := http.NewRequest(http.MethodGet, strings.Split(url, "?")[0], nil)
	n.Expect(err).NotTo(HaveOccurred())
	signer := v4.NewSigner(credentials.NewStaticCredentials(accessKey, secretKey, ""), func(s *v4.Signer) { s.DisableURIPathEscaping = true })
	_, err = signer.Presign(request, nil, "s3", region, time.Hour, at)
	n.Expect(err).NotTo(HaveOccurred())
	return request.URL.String()
}

// fetch returns the status and the body of what a machine gets that has no login.
func (n networks) fetch(url string) (int, string) {
	answer, err := n.http.Get(url)
	n.Expect(err).NotTo(HaveOccurred())
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	n.Expect(err).NotTo(HaveOccurred())
	return answer.StatusCode, string(body)
}

// newKey makes an HMAC key.
func (n networks) newKey(instance string) (accessKey, secretKey string) {
	parameters := &rc.ResourceKeyPostParameters{}
	parameters.SetProperty("HMAC", true)
	key, _, err := n.controller.CreateResourceKey(n.controller.NewCreateResourceKeyOptions("demo", instance).SetParameters(parameters))
	n.Expect(err).NotTo(HaveOccurred())
	hmac := key.Credentials.GetProperty("cos_hmac_keys").(map[string]any)
	return hmac["access_key_id"].(string), hmac["secret_access_key"].(string)
}

func TestBucket_hasANameThatNoOtherHas(t *testing.T) {
	n := newNetworks(onLoopback(t, func(c *sim.Config) { c.ForeignBuckets, c.Quotas.Buckets = []string{"theirs"}, 2 }))
	mine := n.storage(*n.createInstance("files", "global", sim.PlanObjectStorage).GUID)
	other := n.storage(*n.createInstance("more-files", "global", sim.PlanObjectStorage).CRN)
	n.Expect(headBucket(mine, "demo")).To(Equal("404 NotFound"))
	n.Expect(createBucket(mine, "demo")).To(BeEmpty())
	n.Expect(headBucket(mine, "demo")).To(BeEmpty())
	n.Expect(createBucket(mine, "demo")).To(Equal("409 BucketAlreadyOwnedByYou"))
	n.Expect(createBucket(other, "demo")).To(Equal("409 BucketAlreadyExists"))
	n.Expect(createBucket(mine, "theirs")).To(Equal("409 BucketAlreadyExists"))
	n.Expect(headBucket(mine, "theirs")).To(Equal("403 Forbidden"))
	n.Expect(createBucket(other, "more")).To(BeEmpty())
	n.Expect(createBucket(other, "one-too-many")).To(Equal("400 TooManyBuckets"))

	list, err := mine.ListBuckets(&s3.ListBucketsInput{})
	n.Expect(err).NotTo(HaveOccurred())
	n.Expect(list.Buckets).To(HaveLen(1))
	n.Expect(*list.Buckets[0].Name).To(Equal("demo"))
	n.Expect(deleteBucket(mine, "demo")).To(BeEmpty())
	n.Expect(deleteBucket(mine, "demo")).To(Equal("404 NoSuchBucket"))
	n.Expect(createBucket(other, "demo")).To(BeEmpty())
}

func TestBucket_isDeletedWhenItIsEmpty(t *testing.T) {
	n := newNetworks(onLoopback(t))
	c := n.storage(*n.createInstance("files", "global", sim.PlanObjectStorage).GUID)
	n.Expect(createBucket(c, "demo")).To(BeEmpty())
	n.Expect(putObject(c, "demo", "old")).To(BeEmpty())
	n.Expect(putObject(c, "demo", "new")).To(BeEmpty())
	got, err := c.GetObject(&s3.GetObjectInput{Bucket: ptr.To("demo"), Key: ptr.To(objectKey)})
	n.Expect(err).NotTo(HaveOccurred())
	n.Expect(io.ReadAll(got.Body)).To(BeEquivalentTo("new"))
	list, err := c.ListObjectsV2(&s3.ListObjectsV2Input{Bucket: ptr.To("demo"), Prefix: ptr.To("control")})
	n.Expect(err).NotTo(HaveOccurred())
	n.Expect(list.Contents).To(HaveLen(1))
	n.Expect(*list.Contents[0].Key).To(Equal(objectKey))

	n.Expect(deleteBucket(c, "demo")).To(Equal("409 BucketNotEmpty"))
	n.Expect(deleteObject(c, "demo")).To(BeEmpty())
	n.Expect(deleteObject(c, "demo")).To(BeEmpty(), "what isn't there is deleted, too")
	_, err = c.GetObject(&s3.GetObjectInput{Bucket: ptr.To("demo"), Key: ptr.To(objectKey)})
	n.Expect(storageError(err)).To(Equal("404 NoSuchKey"))
	n.Expect(deleteBucket(c, "demo")).To(BeEmpty())
	n.Expect(putObject(c, "demo", "late")).To(Equal("404 NoSuchBucket"))
}

func TestBucket_goesWithItsInstance(t *testing.T) {
	n := newNetworks(onLoopback(t))
	id := *n.createInstance("files", "global", sim.PlanObjectStorage).GUID
	c := n.storage(id)
	n.Expect(createBucket(c, "demo")).To(BeEmpty())
	n.Expect(putObject(c, "demo", "text")).To(BeEmpty())
	n.Expect(n.remove(id, true)).To(Equal(http.StatusAccepted))
	n.Eventually(func() string { return headBucket(c, "demo") }, time.Minute).Should(Equal("404 NotFound"))
	n.Expect(createBucket(c, "demo")).To(Equal("403 AccessDenied"))
	n.Expect(n.cloud.State()[sim.KindObject]).To(BeEmpty())
}

func TestBucketRequests_thatAreRefused(t *testing.T) {
	n := newNetworks(onLoopback(t))
	c := n.storage(*n.createInstance("files", "global", sim.PlanObjectStorage).GUID)
	for _, name := range []string{"ab", "Demo", "-demo", "a..b", strings.Repeat("a", 64)} {
		n.Expect(createBucket(c, name)).To(Equal("400 InvalidBucketName"), name)
	}
	n.Expect(createBucket(n.storage(""), "demo")).To(Equal("400 InvalidRequest"), "no instance")
	n.Expect(createBucket(n.storage("unknown"), "demo")).To(Equal("403 AccessDenied"))
	n.Expect(createBucket(n.storage(*n.createInstance("work", sim.DefaultZone, sim.PlanPower).GUID), "demo")).To(Equal("403 AccessDenied"))
	n.cloud.ExpireTokens()
	n.Expect(createBucket(c, "demo")).To(Equal("403 AccessDenied"))
	n.Expect(n.cloud.State()[sim.KindBucket]).To(BeEmpty())
}

func TestPresigned_URLsAreForOneObjectAndOneHour(t *testing.T) {
	n := newNetworks(onLoopback(t))
	id := *n.createInstance("files", "global", sim.PlanObjectStorage).GUID
	c := n.storage(id)
	n.Expect(createBucket(c, "demo")).To(BeEmpty())
	n.Expect(putObject(c, "demo", "ignition")).To(BeEmpty())
	accessKey, secretKey := n.newKey(id)
	url := n.presign(n.signing(accessKey, secretKey), "demo", time.Hour)
	status, body := n.fetch(url)
	n.Expect(body).To(Equal("ignition"))
	n.Expect(status).To(Equal(http.StatusOK))

	foreign, foreignSecret := n.newKey(*n.createInstance("others", "global", sim.PlanObjectStorage).GUID)
	for want, url := range map[string]string{
		"<Code>AccessDenied</Code>":                          n.presign(c, "demo", time.Hour), // by the client that logs in with IAM: unsigned
		"<Message>Access Denied</Message>":                   n.presign(n.signing(foreign, foreignSecret), "demo", time.Hour),
		"<Code>SignatureDoesNotMatch</Code>":                 n.presign(n.signing(accessKey, "wrong"), "demo", time.Hour),
		"<Code>InvalidAccessKeyId</Code>":                    n.presign(n.signing("unknown", secretKey), "demo", time.Hour),
		"signature you provided":                             strings.Replace(url, "demo%201", "demo%202", 1),
		"signing method":                                     strings.Replace(url, "X-Amz-Expires=3600", "X-Amz-Expires=36000", 1),
		"<Code>AuthorizationQueryParametersError</Code>":     strings.Replace(url, "X-Amz-Expires=3600", "X-Amz-Expires=x", 1),
		"query parameters of the signature are invalid":      n.presign(n.signing(accessKey, secretKey), "demo", 8*24*time.Hour),
		"<Message>Access Denied</Message><RequestId>simula":  strings.Split(url, "?")[0],
		"<Code>SignatureDoesNotMatch</Code><Message>The req": strings.Replace(url, "host", "host%3Bx", 1),
	} {
		status, body := n.fetch(url)
		n.Expect(body).To(ContainSubstring(want))
		n.Expect(status).To(BeElementOf(http.StatusForbidden, http.StatusBadRequest), want)
	}

	for ago, want := range map[time.Duration]string{
		59 * time.Minute: "ignition", time.Hour: "<Code>AccessDenied</Code><Message>Request has expired</Message>", -time.Hour: "not yet valid",
	} {
		_, body := n.fetch(n.presignedAt(time.Now().Add(-ago), accessKey, secretKey, url))
		n.Expect(body).To(ContainSubstring(want))
	}
}

func TestPresigned_URLsEndWithTheirKey(t *testing.T) {
	n := newNetworks(onLoopback(t))
	id := *n.createInstance("files", "global", sim.PlanObjectStorage).GUID
	c := n.storage(id)
	n.Expect(createBucket(c, "demo")).To(BeEmpty())
	n.Expect(putObject(c, "demo", "ignition")).To(BeEmpty())
	url := n.presign(n.signing(n.newKey(id)), "demo", time.Hour)
	n.Expect(n.cloud.Vanish(n.cloud.State()[sim.KindResourceKey][0].ID)).To(Succeed())
	status, body := n.fetch(url)
	n.Expect(status).To(Equal(http.StatusForbidden))
	n.Expect(body).To(ContainSubstring("InvalidAccessKeyId"))
}
