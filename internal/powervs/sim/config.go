package sim

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/simulator"
)

// Config is the account that a simulator starts with, and how fast time passes in it.
type Config struct {
	// Account is its ID.
	Account string `json:"account"`
	// APIKeys are those that IAM knows.
	APIKeys []APIKey `json:"apiKeys"`

	ResourceGroups []ResourceGroup `json:"resourceGroups"`
	Zones          []Zone          `json:"zones"`
	// Regions are those of VPC and Transit Gateway; default DefaultRegions.
	Regions []Region `json:"regions,omitempty"`
	// Balancers is the range that load balancers get their addresses from; default 127.200.0.0/16.
	Balancers netip.Prefix `json:"balancers,omitzero"`
	// ForeignBuckets are the names of buckets of other accounts.
	ForeignBuckets []string `json:"foreignBuckets,omitempty"`
	// SSHKeys are the names of the account's keys for servers.
	SSHKeys []string `json:"sshKeys,omitempty"`
	// Instances are there from the beginning.
	Instances []Instance `json:"instances,omitempty"`

	Quotas Quotas `json:"quotas,omitzero"`
	// PageSize is the number of items in a page of a list, unless its client says another; default 100.
	PageSize int `json:"pageSize,omitempty"`
	// ShowLeases lets a server show the addresses that it has of DHCP servers. By default only those know them.
	ShowLeases bool `json:"showLeases,omitempty"`
	// TokenLifetime is how long tokens of IAM are valid, in real time, which is that of clients; default 1 hour.
	TokenLifetime metav1.Duration `json:"tokenLifetime,omitzero"`

	// Speed is the number of simulated seconds per real second; 1, the default, is real time.
	Speed float64 `json:"speed,omitempty"`
	Times Times   `json:"times,omitzero"`
}

// Load reads an account from a YAML file. Unknown fields are an error.
func Load(path string) (Config, error) {
	return simulator.Load(path, Config{}, Config.check)
}

func (c Config) check() error {
	_, err := c.complete()
	return err
}

// complete fills in defaults and checks that the parts fit together.
func (c Config) complete() (Config, error) {
	if c.Speed == 0 {
		c.Speed = 1
	}
	if c.TokenLifetime.Duration == 0 {
		c.TokenLifetime.Duration = time.Hour
	}
	if c.PageSize == 0 {
		c.PageSize = 100
	}
	if len(c.Regions) == 0 {
		c.Regions = DefaultRegions()
	}
	if !c.Balancers.IsValid() {
		c.Balancers = netip.MustParsePrefix("127.200.0.0/16")
	}
	c.Times.setDefaults()
	c.Quotas.setDefaults()
	switch {
	case c.Account == "" || len(c.APIKeys) == 0:
		return c, errors.New("account and apiKeys must be set")
	case c.Speed < 0 || c.TokenLifetime.Duration < 0 || c.PageSize < 0:
		return c, errors.New("speed, tokenLifetime and pageSize must be positive")
	}
	c.APIKeys = slices.Clone(c.APIKeys) // those of the caller stay as they are when keys are disabled
	return c, errors.Join(c.checkWorld(), c.checkRegions())
}
