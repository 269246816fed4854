package client_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// logins are how many tokens were fetched so far.
func (b bench) logins() int { return b.cloud.Calls()["iam.createToken"] }

func TestToken_isOneForAllServicesAndCallers(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		in, bucket := b.newWorkspace(), b.newBucket("demo")
		fresh := bench{b.Gomega, b.connect(nil), b.t, b.cloud}
		before := b.logins()
		var all sync.WaitGroup
		failed := make(chan error, 100)
		for range 10 {
			for _, read := range fresh.reads(in, bucket) {
				all.Go(func() { failed <- read(b.t.Context()) })
			}
		}
		all.Wait()
		close(failed)
		for err := range failed {
			b.Expect(err).NotTo(HaveOccurred())
		}
		b.Expect(b.logins()).To(Equal(before + 1))
	})
}

func TestToken_isFetchedOnceMoreBeforeItEnds(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.VPCs(b.t.Context(), region)).To(BeEmpty())
		for range 10 {
			b.pass(5 * time.Minute)
			b.Expect(b.TransitGateways(b.t.Context())).To(BeEmpty())
		}
		b.Expect(b.logins()).To(Equal(1))
		b.pass(9*time.Minute + 30*time.Second)
		b.Expect(b.VPCs(b.t.Context(), region)).To(BeEmpty())
		b.Expect(b.logins()).To(Equal(2), "it isn't used in its last minute")
	}, func(c *sim.Config) { c.TokenLifetime = metav1.Duration{Duration: time.Hour} })
}

func TestToken_thatIsRefusedIsReplacedForAllServices(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, in := b.t.Context(), b.newWorkspace()
		b.Expect(b.VPCs(ctx, region)).To(BeEmpty())
		before := b.logins()
		b.cloud.ExpireTokens()
		b.Expect(errorOf(b.CreateVPC(ctx, region, "demo", group))).To(Succeed(), "a refused login has changed nothing")
		b.Expect(errorOf(b.Servers(ctx, in))).To(Succeed())
		b.Expect(errorOf(b.TransitGateways(ctx))).To(Succeed())
		b.Expect(b.logins()).To(Equal(before + 1))
	})
}

func TestAPIKey_thatIsRefusedIsNamedByItsSecret(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.cloud.DisableKey(sim.DefaultAPIKey, true)).To(Succeed())
		err := errorOf(b.VPCs(b.t.Context(), region))
		b.Expect(err).To(beOf(fault.Credentials))
		b.Expect(err).To(MatchError("log in to IAM: 400 Bad Request: BXNIM0462E (the API key is disabled); correct apiKey in secret team/ibm"))
		b.Expect(errorOf(b.AccountID(b.t.Context()))).To(beOf(fault.Credentials))

		wrong := b.connect(nil, func(c *client.Config) { c.APIKey = "mistyped" })
		err = errorOf(wrong.Instances(b.t.Context(), client.PlanCOS, ""))
		b.Expect(err).To(And(beOf(fault.Credentials), MatchError(ContainSubstring("doesn't exist"))))
	})
}

func TestAPIKey_isTriedAgainOnceAfterAPause(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		b.Expect(b.cloud.DisableKey(sim.DefaultAPIKey, true)).To(Succeed())
		c := b.connect(nil, func(c *client.Config) { c.RefusalPause = time.Minute })
		for range 5 {
			b.Expect(errorOf(c.VPCs(ctx, region))).To(beOf(fault.Credentials))
		}
		b.Expect(b.logins()).To(Equal(1))
		b.Expect(b.cloud.DisableKey(sim.DefaultAPIKey, false)).To(Succeed())
		b.pass(time.Minute)
		b.Expect(c.VPCs(ctx, region)).To(BeEmpty())
	})
}

func TestLogin_troubleIsTransient(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, status := range []int{429, 500, 503} {
			b.fault(simulator.Fault{Operation: "iam.createToken", Kind: simulator.FaultStatus, Status: status, Message: "trouble"})
			b.Expect(errorOf(b.VPCs(b.t.Context(), region))).To(beOf(fault.Transient), fmt.Sprint(status))
		}
		b.fault(simulator.Fault{Operation: "iam.createToken", Kind: simulator.FaultLoseAnswer})
		err := errorOf(b.CreateVPC(b.t.Context(), region, "demo", group))
		b.Expect(err).To(beOf(fault.Transient))
		b.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "nothing was sent")
		b.fault(simulator.Fault{Operation: "iam.createToken", Kind: simulator.FaultHang})
		began := time.Now()
		b.Expect(errorOf(b.VPCs(b.t.Context(), region))).To(beOf(fault.Transient))
		b.Expect(time.Since(began)).To(BeNumerically("<=", 16*time.Second))
		b.Expect(b.VPCs(b.t.Context(), region)).To(BeEmpty())
	})
}

func TestLogin_acceptsTokensOnlyThatCanBeUsed(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, answer := range []string{
			`not JSON`, `{}`, `{"access_token":"a.b.c","expires_in":3600}`, `{"access_token":"a b","expires_in":3600}`,
			`{"access_token":"a.eyJhY2NvdW50Ijp7ImJzcyI6ImFjYyJ9fQ.c"}`,                        // no life
			`{"access_token":"a.eyJhY2NvdW50Ijp7ImJzcyI6ImEvYiJ9fQ.c","expires_in":3600}`,      // the account a/b
			`{"access_token":"a.eyJhY2NvdW50Ijp7ImJzcyI6ImFjYyJ9fQ.c\r\nx","expires_in":3600}`, // a header of its own
		} {
			c := b.connect(answering("iam.example.com", 200, answer))
			err := errorOf(c.VPCs(b.t.Context(), region))
			b.Expect(err).To(beOf(fault.Transient), answer)
			b.Expect(err).To(MatchError(HavePrefix("log in to IAM: ")))
			b.Expect(errorOf(c.AccountID(b.t.Context()))).To(beOf(fault.Transient), answer)
		}
	})
}

func TestLogin_repeatsNothingOfARefusalButItsCode(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		c := b.connect(answering("iam.example.com", 400, `{"errorCode":"whatever","errorMessage":"it likes"}`))
		b.Expect(errorOf(c.VPCs(b.t.Context(), region))).To(MatchError("log in to IAM: 400 Bad Request; correct apiKey in secret team/ibm"))
	})
}

// answering replaces the answers of a host.
func answering(host string, status int, body string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != host {
				return next.RoundTrip(r)
			}
			return reply(status, body), nil
		})
	}
}
