package provisioner

import (
	"net/netip"

	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
)

const (
	// Bridge is ovn-kubernetes' external bridge on a DPU. The tunnel endpoint is on it.
	Bridge = "br-ovn"
	// hostMetric makes the route to the hosts the least preferred one: the DPU has others to their network, for its kubelet.
	hostMetric = 10000
)

// Wanted is what one node is to have. The zero value is nothing.
type Wanted struct {
	Link        string
	Address     netip.Prefix
	Routes      []Route
	ExternalIDs map[string]string // of Open vSwitch
}

// Route by a gateway in the network of the address.
type Route struct {
	To      netip.Prefix
	Gateway netip.Addr
	Metric  int // 0 means the kernel's default
}

// Side of the cable between a host and its DPU.
type Side struct {
	Name, Short string
	// wanted of a node, by a configuration.
	wanted func(data []byte, node string) (Wanted, error)
	bridge bool // it has Open vSwitch
}

// Host is the side of the host cluster's node.
var Host = Side{
	Name: "dpu-host-network-provisioner", Short: "Keeps the address and the routes by which a host reaches the network of DPUs",
	wanted: func(data []byte, node string) (Wanted, error) {
		c, err := config.ParseHost(data)
		address, named := c.PFIPs[node]
		if err != nil || !named {
			return Wanted{}, err
		}
		return Wanted{Link: c.HostPF0, Address: address, Routes: toEndpoints(c.VTEPCIDR, address, c.Gateways[node])}, nil
	},
}

// DPU is the side of the DPU cluster's node.
var DPU = Side{
	Name: "dpu-cni-provisioner", Short: "Keeps the tunnel endpoint of ovn-kubernetes on a DPU", bridge: true,
	wanted: func(data []byte, node string) (Wanted, error) {
		c, err := config.ParseDPU(data)
		own, named := c.PerNodeConfig[node]
		if err != nil || !named {
			return Wanted{}, err
		}
		routes := append(toEndpoints(c.VTEPCIDR, own.VTEPIP, own.Gateway), Route{To: c.HostCIDR.Masked(), Gateway: own.Gateway, Metric: hostMetric})
		return Wanted{Link: Bridge, Address: own.VTEPIP, Routes: routes, ExternalIDs: map[string]string{
			"ovn-encap-ip": own.VTEPIP.Addr().String(), "host-k8s-nodename": c.HostNodes[node],
		}}, nil
	},
}

// toEndpoints is the route to all tunnel endpoints, unless they are in the node's own network.
func toEndpoints(cidr, address netip.Prefix, gateway netip.Addr) []Route {
	if cidr.Masked() == address.Masked() {
		return nil
	}
	return []Route{{To: cidr.Masked(), Gateway: gateway}}
}
