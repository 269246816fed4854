package sim

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/bedplate/bedplate/internal/simulator"
)

// APIKey is a key of a user or of a service ID of the account.
type APIKey struct {
	Value string `json:"value"`
	// IAMID is whose key it is.
	IAMID string `json:"iamId"`
	// Disabled keys get no tokens.
	Disabled bool `json:"disabled,omitempty"`
}

const apiKeyGrant = "urn:ibm:params:oauth:grant-type:apikey" //nolint:gosec // a kind of grant, no secret

func (c *Cloud) newIAM() *service {
	s := newService(c, "iam", failAsIAM)
	s.open("createToken", "POST /identity/token", c.createToken)
	return s
}

// failAsIAM is the format of IAM.
func failAsIAM(w http.ResponseWriter, f *failure) {
	writeFailure(w, f.status, map[string]any{
		"errorCode": f.code, "errorMessage": f.message, "context": map[string]string{"requestId": "simulated"},
	})
}

// createToken grants a token for an API key.
func (c *Cloud) createToken(r *call) (reply, error) {
	if grant := r.PostFormValue("grant_type"); grant != apiKeyGrant {
		return reply{}, refuse(http.StatusBadRequest, "BXNIM0108E", "Unsupported grant_type: %q", grant)
	}
	key, found := c.apiKey(r.PostFormValue("apikey"))
	switch {
	case !found:
		return reply{}, refuse(http.StatusBadRequest, "BXNIM0415E", "Provided API key could not be found.")
	case key.Disabled:
		return reply{}, refuse(http.StatusBadRequest, "BXNIM0462E", "Provided API key is disabled.")
	}
	token, expires := c.issue(key)
	return ok(map[string]any{
		"access_token": token, "refresh_token": "not_supported", "token_type": "Bearer", "scope": "ibm openid",
		"expires_in": int(c.config.TokenLifetime.Seconds()), "expiration": expires.Unix(),
	})
}

func (c *Cloud) apiKey(value string) (APIKey, bool) {
	i := slices.IndexFunc(c.config.APIKeys, func(k APIKey) bool {
		return subtle.ConstantTimeCompare([]byte(k.Value), []byte(value)) == 1
	})
	if i < 0 {
		return APIKey{}, false
	}
	return c.config.APIKeys[i], true
}

// issue a token, whose times are real ones: clients compare them with their own clock.
func (c *Cloud) issue(key APIKey) (token string, expires time.Time) {
	expires = time.Now().Add(c.config.TokenLifetime.Duration)
	token = simulator.JWT([]byte(rand.Text()), map[string]any{
		"iss": "https://iam.cloud.ibm.com/identity", "iam_id": key.IAMID, "sub": key.IAMID, "grant_type": apiKeyGrant,
		"scope": "ibm openid", "account": map[string]any{"valid": true, "bss": c.config.Account},
	}, expires)
	c.tokens.Add(token, key.IAMID, expires)
	return token, expires
}

// DisableKey disables an API key, or enables it again.
func (c *Cloud) DisableKey(value string, disabled bool) error {
	return c.change(func(time.Time) error {
		i := slices.IndexFunc(c.config.APIKeys, func(k APIKey) bool { return k.Value == value })
		if i < 0 {
			return errors.New("there is no such API key")
		}
		c.config.APIKeys[i].Disabled = disabled
		return nil
	})
}
