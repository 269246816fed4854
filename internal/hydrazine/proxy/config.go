package proxy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Config of a proxy.
type Config struct {
	Tenancy

	Listen           string
	CreateNamespaces bool
	// Connections of all clients.
	Connections int
	// What each tenant may have. Operators may have more.
	TenantConnections, TenantWatches int
	TenantQPS                        float64
	TenantBurst                      int
}

// AddFlags adds the configuration to a command line.
func (c *Config) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Listen, "listen", ":9661", "Address that gRPC is served at.")
	flags.StringVar(&c.NamespacePrefix, "namespace-prefix", "tenant-", "What the name of a tenant's namespace begins with, "+
		"before the tenant's own name. Empty gives every namespace but Kubernetes' own to the tenant of its name.")
	flags.StringSliceVar(&c.Operators, "operator-organization", nil, "Organization of the certificates of those who "+
		"may act for every tenant. Repeat it for several.")
	flags.BoolVar(&c.CreateNamespaces, "create-namespaces", true, "Make a tenant's namespace with its first object, "+
		"where it isn't there.")
	flags.IntVar(&c.Connections, "max-connections", 4096, "Connections that clients may have at a time.")
	flags.IntVar(&c.TenantConnections, "tenant-connections", 256, "Connections that the clients of one tenant may have at a time.")
	flags.IntVar(&c.TenantWatches, "tenant-watches", 1024, "Watches that the clients of one tenant may have at a time.")
	flags.Float64Var(&c.TenantQPS, "tenant-qps", 50, "Calls per second that the clients of one tenant may make.")
	flags.IntVar(&c.TenantBurst, "tenant-burst", 200, "Calls that the clients of one tenant may make at once after a pause.")
}

// Validate says what makes no sense.
func (c *Config) Validate() error {
	// With an "x" behind it, it is the shortest name that it is the beginning of.
	if problems := validation.IsDNS1123Label(c.NamespacePrefix + "x"); len(problems) > 0 {
		return fmt.Errorf("--namespace-prefix %q: %s", c.NamespacePrefix, problems[0])
	}
	if slices.Contains(c.Operators, "") {
		return errors.New("--operator-organization is empty")
	}
	if c.Connections < 1 || c.TenantConnections < 1 || c.TenantWatches < 1 || c.TenantQPS <= 0 || c.TenantBurst < 1 {
		return errors.New("--max-connections, --tenant-connections, --tenant-watches, --tenant-qps and --tenant-burst are at least 1")
	}
	return nil
}
