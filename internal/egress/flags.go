package egress

import (
	"github.com/spf13/pflag"

	"github.com/bedplate/bedplate/internal/flagcheck"
)

const (
	allowedFlag  = "allowed-endpoints"
	loopbackFlag = "insecure-loopback-endpoints"
)

// Flags are what a policy is made of on a command line.
type Flags struct {
	allowed  []string
	loopback bool
}

// Add the flags to those of a program.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.allowed, allowedFlag, nil, "The only destinations that the endpoints and token URLs in Secrets may have: "+
		"names, *.DOMAIN for all names below it, addresses and CIDRs; each with or without :PORT. If empty, everything except what "+
		"is inside: loopback, link-local and metadata addresses, and the cluster's own Services.")
	flags.BoolVar(&f.loopback, loopbackFlag, false, "For labs and tests: endpoints may be at loopback addresses, also over plain "+
		"http. Users who can write a Secret can then call services that listen on the program's loopback interface.")
}

// Policy of the flags. The error is a value that can't be used.
func (f *Flags) Policy() (Policy, error) {
	policy := Policy{Loopback: f.loopback}
	for _, text := range f.allowed {
		destination, ok := ParseDestination(text)
		if err := flagcheck.That(allowedFlag, text, ok, "a name, *.DOMAIN, an address or a CIDR, with or without :PORT"); err != nil {
			return Policy{}, err
		}
		policy.Allowed = append(policy.Allowed, destination)
	}
	return policy, nil
}
