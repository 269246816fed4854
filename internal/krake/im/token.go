package im

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// holder of a token of OpenID Connect: its subject and its issuer. These are what IM knows a user by who logs in with one
// (InfrastructureManager.check_oidc_token), so that the next token of the same user leads to the same infrastructures. Both are public;
// whether the token is genuine is for IM to check, which takes no other kind of token.
func holder(token string) (string, error) {
	parts := strings.Split(token, ".")
	var claims struct{ Iss, Sub string }
	if len(parts) == 3 {
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil && bounds.Check(payload) == nil {
			_ = bounds.Unmarshal(payload, &claims) // or there are none
		}
	}
	if claims.Iss == "" || claims.Sub == "" {
		return "", errors.New("a token that isn't one of OpenID Connect: a JWT with an issuer and a subject")
	}
	return claims.Sub + " of " + claims.Iss, nil
}

// userOf a login: the name, or the holder of the token.
func userOf(login Credential) string {
	if login[FieldToken] == "" {
		return login[FieldUsername]
	}
	who, _ := holder(login[FieldToken]) // which IM doesn't know either
	return who
}
