package sim

import (
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Config is the account that a simulator starts with, and how fast time passes in it.
type Config struct {
	// Account is its ID.
	Account string `json:"account"`
	// APIKeys are those that IAM knows.
	APIKeys []APIKey `json:"apiKeys"`
	// TokenLifetime is how long tokens of IAM are valid, in real time, which is that of clients; default 1 hour.
	TokenLifetime metav1.Duration `json:"tokenLifetime,omitzero"`

	// Speed is the number of simulated seconds per real second; 1, the default, is real time.
	Speed float64 `json:"speed,omitempty"`
	Times Times   `json:"times,omitzero"`
}

// What DefaultWorld contains.
const (
	DefaultAccount = "3c24cb272ca44aa1ac9f6e9490ac5ecd"
	DefaultAPIKey  = "simulator-api-key"
)

// DefaultWorld is what tests and the lab start from.
func DefaultWorld() Config {
	return Config{
		Account: DefaultAccount, APIKeys: []APIKey{{Value: DefaultAPIKey, IAMID: "IBMid-270003GUSX"}},
		Speed: 1, Times: DefaultTimes(),
	}
}

// Load reads an account from a YAML file. Unknown fields are an error.
func Load(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read simulator configuration: %w", err)
	}
	var config Config
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		return Config{}, fmt.Errorf("read simulator configuration %s: %w", path, err)
	}
	if _, err := config.complete(); err != nil {
		return Config{}, fmt.Errorf("simulator configuration %s: %w", path, err)
	}
	return config, nil
}

// complete fills in defaults and checks that the parts fit together.
func (c Config) complete() (Config, error) {
	if c.Speed == 0 {
		c.Speed = 1
	}
	if c.TokenLifetime.Duration == 0 {
		c.TokenLifetime.Duration = time.Hour
	}
	c.Times.setDefaults()
	switch {
	case c.Account == "" || len(c.APIKeys) == 0:
		return c, errors.New("account and apiKeys must be set")
	case c.Speed < 0 || c.TokenLifetime.Duration < 0:
		return c, errors.New("speed and tokenLifetime must be positive")
	}
	return c, nil
}
