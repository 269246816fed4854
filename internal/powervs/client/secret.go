package client

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// Keys of a credentials Secret. The endpoint of a service is optional, under its name with the ending "Endpoint": iamEndpoint, rmEndpoint,
// rcEndpoint, powervsEndpoint, vpcEndpoint, transitgatewayEndpoint and cosEndpoint.
const (
	SecretKeyAPIKey = "apiKey"
	SecretKeyCA     = httpclient.KeyCA
)

// What a client keeps of a value of its Secret's, in KiB.
const (
	maxValue  = 2
	maxBundle = 256
)

// FromSecret reads a Config: the key apiKey, and optionally the endpoints of services and ca.crt. The error names the Secret and the key,
// and no value.
func FromSecret(secret *corev1.Secret) (Config, error) {
	config, err := fromSecret(secret)
	if err != nil {
		return Config{}, fmt.Errorf("secret %s/%s %w", secret.Namespace, secret.Name, err)
	}
	return config, nil
}

func fromSecret(secret *corev1.Secret) (Config, error) {
	var tooLong string
	value := func(key string, kib int) string {
		if len(secret.Data[key]) > kib<<10 {
			tooLong = fmt.Sprintf("has more than %d KiB under %s", kib, key)
		}
		return strings.TrimSpace(string(secret.Data[key]))
	}
	config := Config{Secret: secret.Namespace + "/" + secret.Name, APIKey: value(SecretKeyAPIKey, maxValue), Endpoints: map[Service]string{}}
	for _, service := range slices.Sorted(maps.Keys(known)) {
		if url := value(service.secretKey(), maxValue); url != "" {
			config.Endpoints[service] = url
		}
	}
	if value(SecretKeyCA, maxBundle) != "" {
		config.CABundle = secret.Data[SecretKeyCA]
	}
	switch {
	case tooLong != "":
		return Config{}, errors.New(tooLong)
	case config.APIKey == "":
		return Config{}, errors.New("has no " + SecretKeyAPIKey)
	}
	return config, nil
}

// Connect returns a function that makes a client from a Secret, after change, which may be nil, has modified the Config.
func Connect(change func(*Config)) func(*corev1.Secret) (*Client, error) {
	return credentials.Builder(FromSecret, change, New)
}
