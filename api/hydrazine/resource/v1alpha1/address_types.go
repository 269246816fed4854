package v1alpha1

import "net/netip"

// IPAddress is an IPv4 or IPv6 address in its canonical text form, such as
// 10.10.10.2 or fd00::2.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=45
// +kubebuilder:validation:XValidation:rule="isIP(self) && ip.isCanonical(self)",message="write an IP address in its canonical form, such as 10.10.10.2 or fd00::2"
// +kubebuilder:validation:XValidation:rule="!isIP(self) || ip(self).isGlobalUnicast()",message="choose an address that one host can have: no multicast, loopback, link-local or unspecified one"
type IPAddress string

// IPPrefix is an IPv4 or IPv6 network in its canonical text form, such as
// 172.16.0.0/12 or fd00::/8.
//
// +kubebuilder:validation:MinLength=4
// +kubebuilder:validation:MaxLength=49
// +kubebuilder:validation:XValidation:rule="isCIDR(self) && string(cidr(self).masked()) == self",message="write a network in its canonical form, such as 172.16.0.0/12 or fd00::/8"
type IPPrefix string

// MACAddress is the Ethernet address of one host, such as 02:00:0a:0a:0a:02. Upper
// and lower case mean the same.
//
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:Pattern=`^[0-9A-Fa-f][02468ACEace](:[0-9A-Fa-f]{2}){5}$`
// +kubebuilder:validation:XValidation:rule="self != '00:00:00:00:00:00'",message="00:00:00:00:00:00 is no host's address"
type MACAddress string

// IPNet describes an IPv4 or IPv6 network. What needs arithmetic is refused by the
// webhook.
//
// +kubebuilder:validation:XValidation:rule="!isIP(self.ip) || self.prefixLength <= (ip(self.ip).family() == 4 ? 30 : 126)",fieldPath=".prefixLength",message="a network needs room for a gateway and a host: at most 30 for IPv4, 126 for IPv6"
type IPNet struct {
	// ip is the network's address, such as 10.10.10.0.
	// +required
	IP IPAddress `json:"ip,omitempty"`

	// prefixLength is the number of leading bits that all addresses of the network
	// share, such as 24.
	// +required
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=126
	PrefixLength uint32 `json:"prefixLength,omitempty"`

	// gateway is the hosts' default gateway, an address inside the network. Without
	// it it is the network's first one.
	// +optional
	Gateway IPAddress `json:"gateway,omitempty"`
}

// Parse returns the network, as it is written, and the hosts' default gateway.
func (n *IPNet) Parse() (network netip.Prefix, gateway netip.Addr, err error) {
	address, err := netip.ParseAddr(string(n.IP))
	if err != nil {
		return network, gateway, err
	}
	network = netip.PrefixFrom(address, int(n.PrefixLength))
	gateway = network.Addr().Next()
	if n.Gateway != "" {
		gateway, err = netip.ParseAddr(string(n.Gateway))
	}
	return network, gateway, err
}
