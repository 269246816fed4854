// Package config is what the operator tells the provisioners: the JSON in the ConfigMap of each side. A provisioner takes the entry of
// its own node.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Key is the key of the JSON in the ConfigMap, and so the name of the mounted file.
const Key = "config.json"

// MaxSize in bytes of a configuration: no ConfigMap is larger.
const MaxSize = 1 << 20

// DPU configures the DPUs' side: the bridge br-ovn of each.
type DPU struct {
	PerNodeConfig map[string]DPUNode `json:"perNodeConfig"` // by the name of the DPU cluster's node
	VTEPCIDR      netip.Prefix       `json:"vtepCIDR"`      // of all tunnel endpoints
	HostCIDR      netip.Prefix       `json:"hostCIDR"`      // of the host cluster's machines
	HostPF0       string             `json:"hostPF0"`       // the hosts' interface
	HostNodes     map[string]string  `json:"hostNodes"`     // host cluster's node, by the DPU cluster's
}

// DPUNode is one DPU's part.
type DPUNode struct {
	VTEPIP  netip.Prefix `json:"vtepIP"`
	Gateway netip.Addr   `json:"gateway"`
}

// Host configures the hosts' side: the physical function of each that leads to its DPU. Each host in PFIPs has a gateway.
type Host struct {
	PFIPs    map[string]netip.Prefix `json:"pfIPs"`    // by the name of the host cluster's node
	Gateways map[string]netip.Addr   `json:"gateways"` // likewise
	VTEPCIDR netip.Prefix            `json:"vtepCIDR"`
	HostPF0  string                  `json:"hostPF0"`
}

// ParseDPU reads and validates the DPUs' side.
func ParseDPU(data []byte) (DPU, error) {
	c, err := parse[DPU](data)
	return c, errors.Join(err, c.Validate())
}

// ParseHost reads and validates the hosts' side.
func ParseHost(data []byte) (Host, error) {
	c, err := parse[Host](data)
	return c, errors.Join(err, c.Validate())
}

// parse refuses unknown fields: a misspelt one would be as if it weren't there. The spelling of a field's letters doesn't matter, so
// VTEPCIDR does too.
func parse[T any](data []byte) (c T, err error) {
	if len(data) > MaxSize {
		return c, fmt.Errorf("the configuration has %d bytes, more than %d", len(data), MaxSize)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf("the configuration can't be read: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return c, errors.New("the configuration can't be read: there is more after it")
	}
	return c, nil
}

// Validate says all that is wrong.
func (c DPU) Validate() error {
	problems := []error{network("vtepCIDR", c.VTEPCIDR), network("hostCIDR", c.HostCIDR), Interface("hostPF0", c.HostPF0)}
	if c.HostCIDR.IsValid() && c.VTEPCIDR.IsValid() && c.HostCIDR.Addr().Is4() != c.VTEPCIDR.Addr().Is4() {
		problems = append(problems, fmt.Errorf("hostCIDR %s and vtepCIDR %s are of different IP versions", c.HostCIDR, c.VTEPCIDR))
	}
	addresses, hosts := map[netip.Addr]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.PerNodeConfig)) {
		each, host := c.PerNodeConfig[name], c.HostNodes[name]
		problems = append(problems, node(name),
			endpoint(name, "vtepIP", each.VTEPIP, each.Gateway, c.VTEPCIDR), unique(addresses, each.VTEPIP.Addr(), name, "vtepIP"))
		if len(validation.IsDNS1123Subdomain(host)) > 0 {
			problems = append(problems, fmt.Errorf("%s: hostNodes has %q instead of the name of its host's node", name, host))
			continue
		}
		problems = append(problems, unique(hosts, host, name, "host node"))
	}
	return errors.Join(problems...)
}

// Validate says all that is wrong.
func (c Host) Validate() error {
	problems := []error{network("vtepCIDR", c.VTEPCIDR), Interface("hostPF0", c.HostPF0)}
	addresses := map[netip.Addr]string{}
	for _, name := range slices.Sorted(maps.Keys(c.PFIPs)) {
		ip := c.PFIPs[name]
		problems = append(problems, node(name),
			endpoint(name, "pfIP", ip, c.Gateways[name], c.VTEPCIDR), unique(addresses, ip.Addr(), name, "pfIP"))
	}
	return errors.Join(problems...)
}

func node(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("%q is no name of a node", name)
	}
	return nil
}

func network(field string, cidr netip.Prefix) error {
	if !cidr.IsValid() {
		return fmt.Errorf("%s is missing", field)
	}
	return nil
}

// endpoint checks a node's address and its gateway: both are hosts' addresses of the network, and they reach each other.
func endpoint(name, field string, ip netip.Prefix, gateway netip.Addr, cidr netip.Prefix) error {
	if !ip.IsValid() {
		return fmt.Errorf("%s: %s is missing", name, field)
	}
	if !gateway.IsValid() {
		return fmt.Errorf("%s: the gateway is missing", name)
	}
	var problems []error
	if cidr.IsValid() && !cidr.Contains(ip.Addr()) {
		problems = append(problems, fmt.Errorf("%s: %s %s isn't in vtepCIDR %s", name, field, ip, cidr))
	}
	if !ip.Contains(gateway) || gateway == ip.Addr() {
		problems = append(problems, fmt.Errorf("%s: the gateway %s is no other address in %s %s", name, gateway, field, ip))
	}
	for _, address := range []netip.Addr{ip.Addr(), gateway} {
		if !ofHost(address, ip) {
			problems = append(problems, fmt.Errorf("%s: %s is no address of a host in %s", name, address, ip.Masked()))
		}
	}
	return errors.Join(problems...)
}

// ofHost says that an address isn't reserved: not the network's own nor its broadcast address, which only prefixes of at most 30 bits
// of IPv4 have (RFC 3021).
func ofHost(address netip.Addr, in netip.Prefix) bool {
	if address.IsUnspecified() || address.IsMulticast() || address.IsLoopback() {
		return false
	}
	if !address.Is4() || in.Bits() > 30 || !in.Contains(address) {
		return true
	}
	next := address.Next()
	return address != in.Masked().Addr() && next.IsValid() && in.Contains(next)
}

func unique[K comparable](seen map[K]string, key K, name, what string) error {
	if other, taken := seen[key]; taken {
		return fmt.Errorf("%s: %s %v is %s's too", name, what, key, other)
	}
	seen[key] = name
	return nil
}

// Linux takes names of at most 15 bytes without spaces and slashes, and neither "." nor "..". Colons it takes, "ip" doesn't.
var validInterface = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}$`)

// Interface says that a field has no name of an interface.
func Interface(field, name string) error {
	if !validInterface.MatchString(name) {
		return fmt.Errorf("%s %q is no name of an interface", field, name)
	}
	return nil
}
