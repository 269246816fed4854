package sim

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

const (
	tokenPath            = "/realms/{realm}/protocol/openid-connect/token" //nolint:gosec // a path
	defaultTokenLifetime = 5 * time.Minute
)

// issueToken is the token endpoint.
func (s *Server) issueToken(w http.ResponseWriter, r *http.Request) {
	s.count("issueToken")
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	client, known := s.oauthClient(r)
	switch {
	case !known:
		refuseToken(w, http.StatusUnauthorized, "invalid_client", "Invalid client or Invalid client credentials")
		return
	case r.PostFormValue("grant_type") != "client_credentials":
		refuseToken(w, http.StatusBadRequest, "unsupported_grant_type", "Unsupported grant_type")
		return
	}
	lifetime := s.config.OAuth.TokenLifetime.Duration
	if lifetime == 0 {
		lifetime = defaultTokenLifetime
	}
	expires := time.Now().Add(lifetime)
	value := s.sign(client, r.PathValue("realm"), expires)
	s.mu.Lock()
	s.tokens = append(s.tokens, token{value: value, roles: rolesOf(client), expires: expires})
	s.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, map[string]any{
		"access_token": value, "token_type": "Bearer", "expires_in": int(lifetime.Seconds()), "scope": "profile email",
	})
}

func rolesOf(client OAuthClient) []Role {
	if len(client.Roles) == 0 {
		return allRoles()
	}
	return client.Roles
}

// oauthClient takes the credentials from the header or from the form.
func (s *Server) oauthClient(r *http.Request) (OAuthClient, bool) {
	id, secret, inHeader := r.BasicAuth()
	if !inHeader {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	client, found := byID(s.config.OAuth.Clients, func(c OAuthClient) string { return c.ID }, id)
	return client, found && subtle.ConstantTimeCompare([]byte(secret), []byte(client.Secret)) == 1
}

// sign makes a JWT with the claims that the service's own tokens have.
func (s *Server) sign(client OAuthClient, realm string, expires time.Time) string {
	encode := func(part any) string {
		data, _ := json.Marshal(part) // can't fail: strings and numbers only
		return base64.RawURLEncoding.EncodeToString(data)
	}
	unsigned := encode(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + encode(map[string]any{
		"iss": "simulator/realms/" + realm, "sub": client.ID, "clientId": client.ID, "jti": rand.Text(),
		"iat": time.Now().Unix(), "exp": expires.Unix(),
		"realm_access": map[string]any{"roles": s.dialect().names(rolesOf(client))},
	})
	mac := hmac.New(sha256.New, s.signingKey)
	mac.Write([]byte(unsigned))
	return strings.Join([]string{unsigned, base64.RawURLEncoding.EncodeToString(mac.Sum(nil))}, ".")
}

func refuseToken(w http.ResponseWriter, status int, code, description string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": description})
}
