package fabric

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
)

// eth0 is the link of servers and hosts.
const eth0 = "eth0"

// wire makes all nodes and cables.
func (f *Fabric) wire() error {
	for _, node := range f.topology.Nodes() {
		if err := f.makeNode(node); err != nil {
			return err
		}
	}
	for _, subnet := range f.topology.Subnets {
		if err := f.makeSubnet(subnet); err != nil {
			return fmt.Errorf("subnet %s: %w", subnet.Name, err)
		}
	}
	return nil
}

func (f *Fabric) makeNode(node string) error {
	if err := namespace.Create(f.Namespace(node)); err != nil {
		return err
	}
	return f.Do(node, func() error {
		loopback, err := netlink.LinkByName("lo")
		if err != nil {
			return fmt.Errorf("%s: find loopback: %w", node, err)
		}
		if err := netlink.LinkSetUp(loopback); err != nil {
			return fmt.Errorf("%s: set loopback up: %w", node, err)
		}
		return f.setKernel(node)
	})
}

// setKernel sets what a node would otherwise have from the computer that it runs on. It must run in the node.
func (f *Fabric) setKernel(node string) error {
	forward, noIPv6 := "0", "1"
	if node == Router {
		forward = "1"
	}
	if f.topology.usesIPv6() {
		noIPv6 = "0"
	}
	for _, setting := range []struct{ path, value string }{
		{"ipv4/ip_forward", forward},
		{"ipv4/conf/all/rp_filter", "0"},
		{"ipv4/conf/default/rp_filter", "0"},
		{"ipv6/conf/all/disable_ipv6", noIPv6},
		{"ipv6/conf/default/disable_ipv6", noIPv6},
		{"ipv6/conf/all/forwarding", forward},
		{"ipv6/conf/default/accept_ra", "0"},
		{"ipv6/conf/all/keep_addr_on_down", "1"},
	} {
		err := os.WriteFile(filepath.Join("/proc/sys/net", setting.path), []byte(setting.value), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
			return fmt.Errorf("%s: set %s: %w", node, setting.path, err)
		}
	}
	return nil
}

func (f *Fabric) makeSubnet(subnet Subnet) error {
	if err := f.makeBridge(subnet); err != nil {
		return err
	}
	for _, server := range subnet.Servers {
		if err := f.attach(subnet, server.Name, eth0); err != nil {
			return err
		}
		if err := f.address(subnet, server.Name, eth0, server.Addresses); err != nil {
			return err
		}
	}
	for _, dpu := range subnet.DPUs {
		if err := f.makeDPU(subnet, dpu); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fabric) makeBridge(subnet Subnet) error {
	return f.Do(Router, func() error {
		snooping := false
		bridge := &netlink.Bridge{
			LinkAttrs:         netlink.LinkAttrs{Name: subnet.Name, MTU: f.topology.mtu()},
			MulticastSnooping: &snooping,
		}
		if err := netlink.LinkAdd(bridge); err != nil {
			return fmt.Errorf("add bridge: %w", err)
		}
		if err := netlink.LinkSetUp(bridge); err != nil {
			return fmt.Errorf("set bridge up: %w", err)
		}
		for _, gateway := range subnet.Gateways {
			if err := addAddress(bridge, gateway); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *Fabric) makeDPU(subnet Subnet, dpu DPU) error {
	for i := range dpu.nics() {
		if err := f.attach(subnet, dpu.Name, NIC(i)); err != nil {
			return err
		}
	}
	if err := f.address(subnet, dpu.Name, NIC(0), dpu.Addresses); err != nil {
		return err
	}
	for i, host := range dpu.Hosts {
		at, port := end{host.Name, eth0}, end{dpu.Name, Port(i)}
		if err := f.cable(at, port, host.MAC, f.topology.hostMTU(host), max(f.topology.hostMTU(host), defaultMTU)); err != nil {
			return err
		}
	}
	return nil
}

// attach puts a cable between a node's link and the bridge of a subnet.
func (f *Fabric) attach(subnet Subnet, node, link string) error {
	far := end{Router, node + "-" + link}
	if err := f.cable(end{node, link}, far, nil, f.topology.mtu(), f.topology.mtu()); err != nil {
		return err
	}
	return f.Do(Router, func() error {
		bridge, err := netlink.LinkByName(subnet.Name)
		if err != nil {
			return fmt.Errorf("find bridge: %w", err)
		}
		port, err := netlink.LinkByName(far.link)
		if err != nil {
			return fmt.Errorf("find %s: %w", far.link, err)
		}
		if err := netlink.LinkSetMaster(port, bridge); err != nil {
			return fmt.Errorf("put %s on the bridge: %w", far.link, err)
		}
		return nil
	})
}

// address gives a node's link addresses of the subnet, and default routes.
func (f *Fabric) address(subnet Subnet, node, link string, addresses []netip.Addr) error {
	for _, address := range addresses {
		prefix, gateway, err := subnet.on(address)
		if err != nil {
			return err
		}
		if err := f.configure(end{node, link}, prefix, gateway); err != nil {
			return err
		}
	}
	return nil
}

// configure adds an address and a default route.
func (f *Fabric) configure(at end, address netip.Prefix, gateway netip.Addr) error {
	return f.Do(at.node, func() error {
		link, err := netlink.LinkByName(at.link)
		if err != nil {
			return fmt.Errorf("find %s: %w", at, err)
		}
		if err := addAddress(link, address); err != nil {
			return fmt.Errorf("configure %s: %w", at, err)
		}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Gw: gateway.AsSlice()}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("configure %s: route by %s: %w", at, gateway, err)
		}
		return nil
	})
}

// addAddress adds an address that can be used at once.
func addAddress(link netlink.Link, prefix netip.Prefix) error {
	address := &netlink.Addr{IPNet: ipNet(prefix)}
	if prefix.Addr().Is6() {
		address.Flags = unix.IFA_F_NODAD
	}
	if err := netlink.AddrReplace(link, address); err != nil {
		return fmt.Errorf("add address %s: %w", prefix, err)
	}
	return nil
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{
		IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen()),
	}
}

// Configure gives a host an address and its default route, as DHCP would. They replace those of the same IP version.
func (f *Fabric) Configure(host string, address netip.Prefix, gateway netip.Addr) error {
	if err := f.Do(host, func() error { return flush(address) }); err != nil {
		return fmt.Errorf("configure %s: %w", host, err)
	}
	return f.configure(end{host, eth0}, address, gateway)
}

// flush removes all addresses of eth0 of the same IP version, with their routes, but for the kernel's own link-local ones.
func flush(like netip.Prefix) error {
	link, err := netlink.LinkByName(eth0)
	if err != nil {
		return err
	}
	family := netlink.FAMILY_V4
	if like.Addr().Is6() {
		family = netlink.FAMILY_V6
	}
	found, err := netlink.AddrList(link, family)
	if err != nil {
		return err
	}
	for _, address := range found {
		if address.IP.IsLinkLocalUnicast() {
			continue
		}
		if err := netlink.AddrDel(link, &address); err != nil {
			return err
		}
	}
	return nil
}

// AddRoute adds a route to a node. Another one to the same destination is replaced.
func (f *Fabric) AddRoute(node string, destination netip.Prefix, by netip.Addr) error {
	return f.Do(node, func() error {
		route := &netlink.Route{Dst: ipNet(destination.Masked()), Gw: by.AsSlice()}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("%s: route %s by %s: %w", node, destination, by, err)
		}
		return nil
	})
}
