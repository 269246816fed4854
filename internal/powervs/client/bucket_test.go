package client_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// newBucket makes one, with its instance.
func (b bench) newBucket(name string) client.Bucket {
	b.t.Helper()
	made := client.Bucket{InstanceID: b.newInstance("files", client.PlanCOS, client.TargetGlobal).ID, Region: region, Name: name}
	b.Expect(b.CreateBucket(b.t.Context(), made)).To(Succeed())
	return made
}

// open a URL, as a machine does that boots, and return the status and the body.
func (b bench) open(url string) (int, string) {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	b.Expect(err).NotTo(HaveOccurred())
	answer, err := simulatortest.Transport(func(host string) http.Handler { return handler(b.cloud, host) }).RoundTrip(r)
	b.Expect(err).NotTo(HaveOccurred())
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func TestBuckets_haveObjects(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, bucket := b.t.Context(), b.newBucket("demo")
		b.Expect(b.HeadBucket(ctx, bucket)).To(Succeed())
		b.Expect(b.CreateBucket(ctx, bucket)).To(beOf(fault.Conflict))
		b.Expect(b.HeadObject(ctx, bucket, "node/one")).To(beOf(fault.NotFound))
		b.Expect(b.PutObject(ctx, bucket, "node/one", []byte("ignition"))).To(Succeed())
		b.Expect(b.HeadObject(ctx, bucket, "node/one")).To(Succeed())
		b.Expect(b.DeleteBucket(ctx, bucket)).To(beOf(fault.Busy))
		b.Expect(b.DeleteObject(ctx, bucket, "node/one")).To(Succeed())
		b.Expect(b.DeleteObject(ctx, bucket, "node/one")).To(Succeed(), "there is none")
		b.Expect(b.DeleteBucket(ctx, bucket)).To(Succeed())
		b.Expect(b.DeleteBucket(ctx, bucket)).To(beOf(fault.NotFound))
		b.Expect(b.HeadBucket(ctx, bucket)).To(beOf(fault.NotFound))
		b.Expect(b.PutObject(ctx, bucket, "node/one", nil)).To(beOf(fault.NotFound))
		b.Expect(b.DeleteObject(ctx, bucket, "node/one")).To(beOf(fault.NotFound))
	})
}

func TestBucket_isInItsInstance(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, bucket := b.t.Context(), b.newBucket("demo")
		b.Expect(b.HasBucket(ctx, bucket)).To(BeTrue())
		other := b.newBucket("other")
		bucket.InstanceID = other.InstanceID
		b.Expect(b.HeadBucket(ctx, bucket)).To(Succeed(), "it is one of the account")
		b.Expect(b.HasBucket(ctx, bucket)).To(BeFalse())
	})
}

func TestBuckets_ofOthersAndBadOnes(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, bucket := b.t.Context(), b.newBucket("demo")
		bucket.Name = "theirs"
		b.Expect(b.CreateBucket(ctx, bucket)).To(beOf(fault.Conflict))
		err := b.HeadBucket(ctx, bucket)
		b.Expect(err).To(beOf(fault.Credentials))
		b.Expect(err).To(MatchError(ContainSubstring("another account's")))
		sent := &recorder{}
		c := b.connect(sent.through)
		for _, name := range []string{"..", "a/b", "UPPER", ""} {
			bucket.Name = name
			b.Expect(c.CreateBucket(ctx, bucket)).To(beOf(fault.Invalid), name)
		}
		b.Expect(sent.urls()).To(BeEmpty())
		bucket.Name = "more"
		b.Expect(b.CreateBucket(ctx, bucket)).To(beOf(fault.Quota))
	}, func(c *sim.Config) { c.ForeignBuckets, c.Quotas.Buckets = []string{"theirs"}, 1 })
}

func TestBuckets_areGoneWithTheirInstance(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, bucket := b.t.Context(), b.newBucket("demo")
		b.Expect(b.DeleteInstance(ctx, bucket.InstanceID)).To(Succeed())
		b.pass(20 * time.Second)
		b.Expect(b.HeadBucket(ctx, bucket)).To(beOf(fault.NotFound))
		b.Expect(b.DeleteObject(ctx, bucket, "node/one")).To(beOf(fault.NotFound))
	})
}

func TestPresignGet_letsAnyoneReadForAnHour(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, bucket := b.t.Context(), b.newBucket("demo")
		key := must(b.CreateHMACKey(ctx, bucket.InstanceID, "demo"))
		b.Expect(b.PutObject(ctx, bucket, "control-plane/a b+c", []byte("ignition"))).To(Succeed())
		url := must(b.PresignGet(ctx, bucket, "control-plane/a b+c", key.ID))
		status, body := b.open(url)
		b.Expect(status).To(Equal(200), body)
		b.Expect(body).To(Equal("ignition"))
		b.pass(59 * time.Minute)
		status, _ = b.open(url)
		b.Expect(status).To(Equal(200))
		b.pass(2 * time.Minute)
		status, _ = b.open(url)
		b.Expect(status).To(Equal(403))

		b.Expect(errorOf(b.PresignGet(ctx, bucket, "key", nothing))).To(beOf(fault.NotFound))
		plain := must(b.CreateHMACKey(ctx, b.newInstance("demo", client.PlanPowerVS, zone).ID, "plain"))
		err := errorOf(b.PresignGet(ctx, bucket, "key", plain.ID))
		b.Expect(err).To(And(beOf(fault.Invalid), MatchError(ContainSubstring("isn't an HMAC key"))))
	})
}
