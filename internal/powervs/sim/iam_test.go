package sim_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/IBM/go-sdk-core/v5/core"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

func TestIAM_grantsTokensOfTheAccount(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		token, err := b.login.RequestToken()
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(token.TokenType).To(Equal("Bearer"))
		b.Expect([]int64{token.ExpiresIn, token.Expiration}).To(Equal([]int64{3600, time.Now().Add(time.Hour).Unix()}))
		claims, err := base64.RawURLEncoding.DecodeString(strings.Split(token.AccessToken, ".")[1])
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(string(claims)).To(ContainSubstring(`"bss":"` + sim.DefaultAccount + `"`))
		b.Expect(b.cloud.Calls()).To(Equal(map[string]int{"iam.createToken": 1}))
	})
}

func TestIAM_isAskedOnceForManyCalls(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for range 5 {
			_, _, err := b.manager.ListResourceGroups(b.manager.NewListResourceGroupsOptions())
			b.Expect(err).NotTo(HaveOccurred())
		}
		b.Expect(b.cloud.Calls()).To(Equal(map[string]int{"iam.createToken": 1, "resourcemanager.listResourceGroups": 5}))
	})
}

func TestIAM_refusesKeys(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.login.ApiKey = "wrong"
		_, err := b.login.RequestToken()
		b.Expect(err).To(MatchError(ContainSubstring("Provided API key could not be found.")))
		failed, is := err.(*core.AuthenticationError) //nolint:errorlint // as the SDK documents it
		b.Expect(is).To(BeTrue())
		b.Expect(failed.Response.StatusCode).To(Equal(http.StatusBadRequest))

		b.Expect(b.cloud.DisableKey(sim.DefaultAPIKey, true)).To(Succeed())
		b.login.ApiKey = sim.DefaultAPIKey
		_, err = b.login.RequestToken()
		b.Expect(err).To(MatchError(ContainSubstring("Provided API key is disabled.")))
		answer, err := b.http.PostForm("http://"+iamHost+"/identity/token",
			url.Values{"grant_type": {"urn:ibm:params:oauth:grant-type:apikey"}, "apikey": {sim.DefaultAPIKey}})
		b.Expect(read(b, answer, err)).To(And(HavePrefix("400 "), ContainSubstring(`"errorCode":"BXNIM0462E"`)))
		b.Expect(b.cloud.DisableKey(sim.DefaultAPIKey, false)).To(Succeed())
		_, err = b.login.RequestToken()
		b.Expect(err).NotTo(HaveOccurred())

		for code, form := range map[string]url.Values{
			"BXNIM0108E": {"grant_type": {"password"}},
			"BXNIM0415E": {"grant_type": {"urn:ibm:params:oauth:grant-type:apikey"}, "apikey": {"wrong"}},
		} {
			answer, err := b.http.PostForm("http://"+iamHost+"/identity/token", form)
			b.Expect(read(b, answer, err)).To(And(HavePrefix("400 "), ContainSubstring(`"errorCode":"`+code+`"`)))
		}
	})
}

func TestTokens_expire(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		old, err := b.login.RequestToken()
		b.Expect(err).NotTo(HaveOccurred())
		groups := func(token string) (int, error) {
			b.manager.Service.Options.Authenticator = &core.BearerTokenAuthenticator{BearerToken: token}
			_, answer, err := b.manager.ListResourceGroups(b.manager.NewListResourceGroupsOptions())
			return answer.StatusCode, err
		}
		b.pass(59 * time.Second)
		b.Expect(groups(old.AccessToken)).To(Equal(http.StatusOK))
		b.pass(time.Second)
		status, err := groups(old.AccessToken)
		b.Expect(status).To(Equal(http.StatusUnauthorized))
		b.Expect(err).To(MatchError(ContainSubstring("expired")))
		_, err = groups("made.up.token")
		b.Expect(err).To(MatchError(ContainSubstring("invalid")))

		young, err := b.login.RequestToken()
		b.Expect(err).NotTo(HaveOccurred())
		b.cloud.ExpireTokens()
		status, _ = groups(young.AccessToken)
		b.Expect(status).To(Equal(http.StatusUnauthorized))
	}, func(c *sim.Config) { c.TokenLifetime = metav1.Duration{Duration: time.Minute} })
}

func TestTokens_expiredAreRefusedByEachServiceInItsOwnFormat(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for url, words := range map[string]string{
			managerHost + "/v2/resource_groups":                                 `"errors":[{"code":"unauthorized"`,
			controllerHost + "/v2/resource_instances":                           `"error_code":"unauthorized","message":`,
			powerHost + "/pcloud/v1/cloud-instances/x/pvm-instances":            `"error":"unauthorized"`,
			powerHost + "/pcloud/v1/cloud-instances/x/services/dhcp/some-thing": `"description":"the request has no authorization token"`,
		} {
			b.Expect(b.raw("http://"+url)).To(And(HavePrefix("401 "), ContainSubstring(words)), url)
		}
		b.Expect(b.raw("http://" + powerHost + "/pcloud/v2/no-such")).To(HavePrefix("404 "))
	})
}

func TestFaults_areAnsweredInEachServicesFormat(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.fault(simulator.Fault{
			Operation: "iam.createToken", Kind: simulator.FaultStatus, Status: http.StatusTooManyRequests, Message: "slow down",
		})
		_, err := b.login.RequestToken()
		b.Expect(err).To(MatchError(ContainSubstring("slow down")))
		b.fault(simulator.Fault{Operation: "resourcecontroller.listResourceInstances", Kind: simulator.FaultStatus, Status: 429, Message: "busy"})
		_, answer, err := b.controller.ListResourceInstances(b.controller.NewListResourceInstancesOptions())
		b.Expect(err).To(MatchError(ContainSubstring("busy")))
		b.Expect(answer.StatusCode).To(Equal(http.StatusTooManyRequests))
		b.Expect(b.cloud.AddFault(simulator.Fault{Operation: "power.noSuch", Kind: simulator.FaultHang})).NotTo(Succeed())
	})
}
