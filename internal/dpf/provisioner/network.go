package provisioner

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// apply what is wanted of the kernel: what is missing first, then away with what isn't wanted any more.
func (r *record) apply(wanted Wanted) error {
	var index int
	if wanted.Link != "" {
		link, err := netlink.LinkByName(wanted.Link)
		if errors.As(err, &netlink.LinkNotFoundError{}) {
			return fmt.Errorf("there is no interface %s on this node", wanted.Link)
		}
		if err != nil {
			return fmt.Errorf("look at %s: %w", wanted.Link, err)
		}
		index = link.Attrs().Index
		if err := errors.Join(r.address(link, wanted.Address), r.up(link)); err != nil {
			return err
		}
	}
	if err := setRoutes(index, wanted); err != nil {
		return err
	}
	return r.release(index, wanted)
}

// address adds it, unless the link has it.
func (r *record) address(link netlink.Link, prefix netip.Prefix) error {
	has, err := hasAddress(link, prefix)
	if has || err != nil {
		return err
	}
	entry := made{link.Attrs().Name, link.Attrs().Index, prefix}
	if err := r.add(entry); err != nil {
		return err
	}
	address := &netlink.Addr{IPNet: ipNet(prefix)}
	if prefix.Addr().Is6() {
		address.Flags = unix.IFA_F_NODAD // addresses of a configuration are unique
	}
	err = netlink.AddrAdd(link, address)
	if errors.Is(err, unix.EEXIST) { // it isn't ours
		err = r.drop(entry)
		if has, errHas := hasAddress(link, prefix); !has { // IPv6 has an address once, whatever its prefix
			err = errors.Join(err, errHas, fmt.Errorf("the address %s is on %s already, with another prefix than that of %s: delete it",
				prefix.Addr(), entry.Link, prefix))
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("add the address %s to %s: %w", prefix, entry.Link, err)
	}
	return nil
}

func (r *record) up(link netlink.Link) error {
	if link.Attrs().Flags&net.FlagUp != 0 {
		return nil
	}
	if err := r.add(made{Link: link.Attrs().Name, Index: link.Attrs().Index}); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("take %s up: %w", link.Attrs().Name, err)
	}
	return nil
}

// release takes back what is recorded and not wanted, links last: one that still has an address is in use.
func (r *record) release(index int, wanted Wanted) error {
	all, err := r.load()
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b made) int { return b.Address.Bits() - a.Address.Bits() })
	var problems []error
	for _, entry := range all {
		if entry.Index == index && (!entry.Address.IsValid() || entry.Address == wanted.Address) {
			continue
		}
		err := entry.undo()
		if err == nil {
			err = r.drop(entry)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// undo what was made, if its link is still the one that it was made on.
func (m made) undo() error {
	link, err := netlink.LinkByIndex(m.Index)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err == nil && m.Address.IsValid() {
		err = removeAddress(link, m.Address)
	} else if err == nil {
		err = takeDown(link)
	}
	if err != nil {
		return fmt.Errorf("take back what was made on %s: %w", m.Link, err)
	}
	return nil
}

func removeAddress(link netlink.Link, prefix netip.Prefix) error {
	has, err := hasAddress(link, prefix)
	if !has || err != nil {
		return err
	}
	if err := keepOthers(link, prefix); err != nil {
		return err
	}
	routes, err := othersRoutes(link)
	if err != nil {
		return err
	}
	err = netlink.AddrDel(link, &netlink.Addr{IPNet: ipNet(prefix)})
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
		return err
	}
	return addAgain(routes)
}

// othersRoutes by a link: neither ours nor the kernel's own.
func othersRoutes(link netlink.Link) ([]netlink.Route, error) {
	routes, err := netlink.RouteList(link, netlink.FAMILY_ALL)
	return slices.DeleteFunc(routes, func(r netlink.Route) bool {
		return slices.Contains([]netlink.RouteProtocol{protocol, unix.RTPROT_KERNEL, unix.RTPROT_RA, unix.RTPROT_REDIRECT}, r.Protocol)
	}), err
}

// addAgain routes that the kernel has removed: with the last address of IPv4 it takes all routes of the link. One whose gateway was in the
// network of ours has ended with it.
func addAgain(routes []netlink.Route) error {
	slices.SortStableFunc(routes, func(a, b netlink.Route) int { return len(a.Gw) - len(b.Gw) }) // to gateways first
	var problems []error
	for _, r := range routes {
		err := netlink.RouteAdd(&r)
		is := func(e error) bool { return errors.Is(err, e) }
		if !slices.ContainsFunc([]error{unix.EEXIST, unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EINVAL}, is) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// keepOthers makes sure that the kernel doesn't remove another program's addresses of the same network together with ours, as it does with
// IPv4 where promote_secondaries is 0. Distributions with systemd set it to 1.
func keepOthers(link netlink.Link, prefix netip.Prefix) error {
	addresses, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		if a.Flags&unix.IFA_F_SECONDARY == 0 || !prefix.Addr().Is4() || !ipNet(prefix).Contains(a.IP) {
			continue
		}
		for _, of := range []string{"all", link.Attrs().Name} {
			value, err := os.ReadFile(promotion(of))
			if err == nil && strings.TrimSpace(string(value)) == "1" {
				return nil
			}
		}
		return os.WriteFile(promotion(link.Attrs().Name), []byte("1"), 0o600)
	}
	return nil
}

func promotion(link string) string { return "/proc/sys/net/ipv4/conf/" + link + "/promote_secondaries" }

// takeDown a link that was down, unless others use it now.
func takeDown(link netlink.Link) error {
	used, err := inUse(link)
	if used || err != nil {
		return err
	}
	return netlink.LinkSetDown(link)
}

// inUse says that others have something on a link: an address, a bridge or a bond, a link on top of it, or a route.
func inUse(link netlink.Link) (bool, error) {
	addresses, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return false, err
	}
	links, err := netlink.LinkList()
	if err != nil {
		return false, err
	}
	routes, err := othersRoutes(link)
	if err != nil {
		return false, err
	}
	return len(routes) > 0 || link.Attrs().MasterIndex != 0 ||
		slices.ContainsFunc(addresses, func(a netlink.Addr) bool { return a.Scope == unix.RT_SCOPE_UNIVERSE }) ||
		slices.ContainsFunc(links, func(l netlink.Link) bool { // of a veth it is the other end
			return l.Attrs().ParentIndex == link.Attrs().Index && l.Type() != "veth"
		}), nil
}

func hasAddress(link netlink.Link, prefix netip.Prefix) (bool, error) {
	addresses, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return false, fmt.Errorf("list the addresses of %s: %w", link.Attrs().Name, err)
	}
	for _, a := range addresses {
		ip, _ := netip.AddrFromSlice(a.IP)
		length, _ := a.Mask.Size()
		if netip.PrefixFrom(ip.Unmap(), length) == prefix {
			return true, nil
		}
	}
	return false, nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
