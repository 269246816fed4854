package client

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// Keys of a credentials Secret.
const (
	SecretKeyEndpoint = httpclient.KeyEndpoint
	SecretKeyOrg      = "orgName"
	SecretKeyAPIName  = "apiName"
	SecretKeyCA       = httpclient.KeyCA

	// SecretKeyToken is one way to log in.
	SecretKeyToken = "token"

	// The keys of the other way to log in; the last one is optional.
	SecretKeyTokenURL     = httpclient.KeyTokenURL
	SecretKeyClientID     = httpclient.KeyClientID
	SecretKeyClientSecret = httpclient.KeyClientSecret
	SecretKeyScopes       = httpclient.KeyScopes
)

// What a client keeps of a value of its Secret's, in KiB. A bundle of all public authorities has 220.
const (
	maxValue  = 2
	maxSecret = 16
	maxBundle = 256
)

var maxOfKeys = []struct {
	key string
	kib int
}{
	{SecretKeyEndpoint, maxValue}, {SecretKeyOrg, maxValue}, {SecretKeyAPIName, maxValue}, {SecretKeyCA, maxBundle},
	{SecretKeyToken, maxSecret}, {SecretKeyTokenURL, maxValue}, {SecretKeyClientID, maxValue}, {SecretKeyClientSecret, maxSecret},
	{SecretKeyScopes, maxValue},
}

// FromSecret reads a Config: the keys endpoint and orgName; either token or tokenURL, clientID and clientSecret, with or
// without scopes (separated by spaces); and, optionally, apiName and ca.crt. The error names the Secret and each key that
// is missing or too many, and no value.
func FromSecret(secret *corev1.Secret) (Config, error) {
	config, err := fromSecret(secret)
	if err != nil {
		return Config{}, fmt.Errorf("secret %s/%s %w", secret.Namespace, secret.Name, err)
	}
	return config, nil
}

func fromSecret(secret *corev1.Secret) (Config, error) {
	for _, bound := range maxOfKeys {
		if len(secret.Data[bound.key]) > bound.kib<<10 {
			return Config{}, fmt.Errorf("has more than %d KiB under %s", bound.kib, bound.key)
		}
	}
	value := func(key string) string { return strings.TrimSpace(string(secret.Data[key])) }
	missing := func(keys ...string) []string {
		var none []string
		for _, key := range keys {
			if value(key) == "" {
				none = append(none, key)
			}
		}
		return none
	}
	lacks := missing(SecretKeyEndpoint, SecretKeyOrg)
	oauth2Keys := []string{SecretKeyTokenURL, SecretKeyClientID, SecretKeyClientSecret}
	oauth2Lacks := missing(oauth2Keys...)
	oauth2 := len(oauth2Lacks) < len(oauth2Keys)
	switch {
	case value(SecretKeyToken) != "" && oauth2:
		return Config{}, fmt.Errorf("has two ways to log in: remove either %s, or %s and %s",
			SecretKeyToken, strings.Join(oauth2Keys, ", "), SecretKeyScopes)
	case oauth2:
		lacks = append(lacks, oauth2Lacks...)
	case value(SecretKeyToken) == "":
		lacks = append(lacks, fmt.Sprintf("%s (or %s)", SecretKeyToken, strings.Join(oauth2Keys, ", ")))
	}
	if len(lacks) > 0 {
		return Config{}, errors.New("has no " + strings.Join(lacks, ", "))
	}
	config := Config{
		Endpoint: value(SecretKeyEndpoint),
		Org:      value(SecretKeyOrg),
		Token:    value(SecretKeyToken),
		Secret:   secret.Namespace + "/" + secret.Name,
		APIName:  value(SecretKeyAPIName),
		CABundle: secret.Data[SecretKeyCA],
	}
	if oauth2 {
		config.OAuth2 = &httpclient.OAuth2{
			TokenURL: value(SecretKeyTokenURL), ClientID: value(SecretKeyClientID), ClientSecret: value(SecretKeyClientSecret),
			Scopes: strings.Fields(value(SecretKeyScopes)),
		}
	}
	return config, nil
}

// Connect returns a function that makes a client from a Secret, after change, which may be nil, has modified the
// Config.
func Connect(change func(*Config)) func(*corev1.Secret) (*Client, error) {
	return credentials.Builder(FromSecret, change, New)
}
