package sim

import (
	"crypto/subtle"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/simulator"
)

// OAuth is an issuer of tokens, for the client credentials grant. Its token endpoint is
// /realms/REALM/protocol/openid-connect/token, as that of Keycloak, for any REALM.
type OAuth struct {
	Clients []OAuthClient `json:"clients,omitempty"`
	// TokenLifetime is how long tokens are valid, in real time; default 5 minutes.
	TokenLifetime metav1.Duration `json:"tokenLifetime,omitzero"`
}

// OAuthClient may have tokens.
type OAuthClient struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
	// Roles of its tokens; default all.
	Roles []Role `json:"roles,omitempty"`
}

const tokenPath = "/realms/{realm}/protocol/openid-connect/token" //nolint:gosec // a path

// issuer is the token endpoint. A token has the claims that the service's own ones have.
func (s *Server) issuer() http.HandlerFunc {
	issuer := &simulator.Issuer{
		Lifetime: s.config.OAuth.TokenLifetime.Duration,
		Claims: func(r *http.Request, id, secret string) (map[string]any, bool) {
			client, found := s.oauthClient(id)
			return map[string]any{
				"iss":          "simulator/realms/" + r.PathValue("realm"),
				"realm_access": map[string]any{"roles": s.dialect().names(rolesOf(client))},
			}, found && subtle.ConstantTimeCompare([]byte(secret), []byte(client.Secret)) == 1
		},
		Issue: func(id, token string, expires time.Time) {
			client, _ := s.oauthClient(id)
			s.tokens.Add(token, rolesOf(client), expires)
		},
	}
	return func(w http.ResponseWriter, r *http.Request) {
		s.Count("issueToken")
		issuer.ServeHTTP(w, r)
	}
}

func (s *Server) oauthClient(id string) (OAuthClient, bool) {
	return byID(s.config.OAuth.Clients, func(c OAuthClient) string { return c.ID }, id)
}

func rolesOf(client OAuthClient) []Role {
	if len(client.Roles) == 0 {
		return allRoles()
	}
	return client.Roles
}
