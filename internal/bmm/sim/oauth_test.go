package sim_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const keycloak = "/realms/acme/protocol/openid-connect/token"

func withLogin(c *sim.Config) {
	c.OAuth = sim.OAuth{
		Clients: []sim.OAuthClient{
			{ID: "robot", Secret: "hush"},
			{ID: "tenant", Secret: "hush", Roles: []sim.Role{sim.TenantAdmin}},
		},
		TokenLifetime: metav1.Duration{Duration: time.Minute},
	}
}

type grant struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int    `json:"expires_in"`
	Error       string `json:"error"`
}

// login asks for a token.
func (b bench) login(path, id, secret, kind string) (int, grant) {
	form := url.Values{"grant_type": {kind}, "client_id": {id}, "client_secret": {secret}}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	var g grant
	b.Expect(json.Unmarshal(w.Body.Bytes(), &g)).To(Succeed(), w.Body.String())
	return w.Code, g
}

func TestTokens_areIssuedAndExpire(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, path := range []string{keycloak, "/simulator/oauth2/token"} {
			status, g := b.login(path, "robot", "hush", "client_credentials")
			b.Expect(status).To(Equal(200))
			b.Expect([]any{g.TokenType, g.ExpiresIn}).To(Equal([]any{"Bearer", 60}))
			b.pass(59 * time.Second)
			status, _ = b.callAs(g.AccessToken, "GET", base+"/site", "")
			b.Expect(status).To(Equal(200))
			b.pass(time.Second)
			status, text := b.callAs(g.AccessToken, "GET", base+"/site", "")
			b.Expect(status).To(Equal(401))
			b.Expect(text).To(ContainSubstring("expired"))
		}
		_, g := b.login(keycloak, "robot", "hush", "client_credentials")
		b.call("DELETE", "/simulator/tokens", "")
		status, _ := b.callAs(g.AccessToken, "GET", base+"/site", "")
		b.Expect(status).To(Equal(401))
		_, g = b.login(keycloak, "robot", "hush", "client_credentials")
		status, _ = b.callAs(g.AccessToken, "GET", base+"/site", "")
		b.Expect(status).To(Equal(200), "a new one is good")
		b.Expect(b.server.Calls()).To(HaveKeyWithValue("issueToken", 4))
	}, withLogin)
}

func TestLogins_thatAreRefused(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, row := range []struct {
			id, secret, kind string
			status           int
			says             string
		}{
			{"robot", "wrong", "client_credentials", 401, "invalid_client"},
			{"nobody", "hush", "client_credentials", 401, "invalid_client"},
			{"robot", "hush", "password", 400, "unsupported_grant_type"},
		} {
			status, g := b.login(keycloak, row.id, row.secret, row.kind)
			b.Expect(status).To(Equal(row.status))
			b.Expect(g.Error).To(Equal(row.says))
			b.Expect(g.AccessToken).To(BeEmpty())
		}
	}, withLogin)
}

func TestBothDialects_haveTheirOwnNames(t *testing.T) {
	for name, row := range map[string]struct{ version, role, source string }{
		sim.Carbide: {sim.Release106, "FORGE_TENANT_ADMIN", "forge"}, sim.NICo: {sim.Release150, "TENANT_ADMIN", "nico"},
	} {
		t.Run(name, func(t *testing.T) {
			inSimulatedTime(t, func(b bench) {
				base := "/v2/org/" + sim.DefaultOrg + "/" + name
				_, g := b.login(keycloak, "tenant", "hush", "client_credentials")
				claims, err := base64.RawURLEncoding.DecodeString(strings.Split(g.AccessToken, ".")[1])
				b.Expect(err).NotTo(HaveOccurred())
				b.Expect(string(claims)).To(ContainSubstring(`"roles":["` + row.role + `"]`))
				_, text := b.callAs(g.AccessToken, "GET", base+"/metadata", "")
				var metadata api.Metadata
				b.Expect(json.Unmarshal([]byte(text), &metadata)).To(Succeed())
				b.Expect(metadata.Version).To(Equal(row.version))
				status, text := b.callAs(g.AccessToken, "POST", base+"/allocation", "")
				b.Expect(status).To(Equal(403), text)
				b.Expect(text).To(And(ContainSubstring("Provider Admin role"), ContainSubstring(`"source":"`+row.source+`"`)))
				status, _ = b.callAs(g.AccessToken, "GET", base+"x/metadata", "")
				b.Expect(status).To(Equal(404))
			}, withLogin, func(c *sim.Config) { c.APIName, c.Release = name, row.version })
		})
	}
}
