package proxy

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bedplate/bedplate/internal/flagcheck"
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
	TenantBurst, TenantWriteBytes    int
}

// AddFlags adds the configuration to a command line.
func (c *Config) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Listen, "listen", ":9661", "Address that gRPC is served at.")
	flags.StringVar(&c.NamespacePrefix, "namespace-prefix", "tenant-", "Prefix of the name of a tenant's namespace, "+
		"before the tenant's own name. If empty, every namespace except Kubernetes' own belongs to the tenant of the same name.")
	flags.StringSliceVar(&c.Operators, "operator-organization", nil, "Organization in the client certificates of operators, who "+
		"may act for every tenant. Repeat it for several.")
	flags.BoolVar(&c.CreateNamespaces, "create-namespaces", true, "Make a tenant's namespace with its first object, "+
		"if it doesn't exist.")
	flags.IntVar(&c.Connections, "max-connections", 2048, "Connections that clients may have at a time.")
	flags.IntVar(&c.TenantConnections, "tenant-connections", 64, "Connections that the clients of one tenant may have at a time.")
	flags.IntVar(&c.TenantWatches, "tenant-watches", 1024, "Watches that the clients of one tenant may have at a time.")
	flags.Float64Var(&c.TenantQPS, "tenant-qps", 50, "Calls per second that the clients of one tenant may make.")
	flags.IntVar(&c.TenantBurst, "tenant-burst", 200, "Calls that the clients of one tenant may make at once after a pause.")
	flags.IntVar(&c.TenantWriteBytes, "tenant-write-bytes", 128<<10, "Bytes per second that the clients of one tenant may write, in messages of "+
		"creates and updates. After a pause they may write those of half a minute at once.")
}

// Validate reports invalid values, with their flags.
func (c *Config) Validate() error {
	const atLeastOne = "at least 1"
	// With an "x" behind it, it is the shortest name that it is the beginning of.
	problems := validation.IsDNS1123Label(c.NamespacePrefix + "x")
	return errors.Join(
		flagcheck.Address("listen", c.Listen),
		flagcheck.That("namespace-prefix", c.NamespacePrefix, len(problems) == 0, "what a namespace's name may begin with: "+strings.Join(problems, ", ")),
		flagcheck.That("operator-organization", strings.Join(c.Operators, ","), !slices.Contains(c.Operators, ""), "without an empty one"),
		flagcheck.That("max-connections", c.Connections, c.Connections >= 1, atLeastOne),
		flagcheck.That("tenant-connections", c.TenantConnections, c.TenantConnections >= 1, atLeastOne),
		flagcheck.That("tenant-watches", c.TenantWatches, c.TenantWatches >= 1, atLeastOne),
		flagcheck.That("tenant-qps", c.TenantQPS, c.TenantQPS > 0 && !math.IsInf(c.TenantQPS, 1), "more than 0"),
		flagcheck.That("tenant-burst", c.TenantBurst, c.TenantBurst >= 1, atLeastOne),
		flagcheck.That("tenant-write-bytes", c.TenantWriteBytes, c.TenantWriteBytes >= 1, atLeastOne),
	)
}
