// Package link is the kernel's side of the DPU's network: interfaces, their addresses and routes.
package link

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Link is an interface as it is now.
type Link struct {
	Name string
	Up   bool // it has a link
	MTU  int  // in bytes
	MAC  string
}

// Get returns an interface, and whether there is one with this name.
func Get(name string) (Link, bool, error) {
	l, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return Link{}, false, nil
	}
	if err != nil {
		return Link{}, false, fmt.Errorf("look at %s: %w", name, err)
	}
	return from(l), true, nil
}

// Match returns the interfaces whose names match one of the patterns, as filepath.Match has it, sorted by name.
func Match(patterns []string) ([]Link, error) {
	all, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces: %w", err)
	}
	var found []Link
	for _, l := range all {
		matches := func(pattern string) bool { ok, _ := filepath.Match(pattern, l.Attrs().Name); return ok }
		if slices.ContainsFunc(patterns, matches) {
			found = append(found, from(l))
		}
	}
	slices.SortFunc(found, func(a, b Link) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

func from(l netlink.Link) Link {
	a := l.Attrs()
	// Drivers that can't say whether there is a link count as those that have one, as in the kernel.
	up := a.OperState == netlink.OperUp || a.OperState == netlink.OperUnknown && a.Flags&net.FlagUp != 0
	return Link{Name: a.Name, Up: up, MTU: a.MTU, MAC: a.HardwareAddr.String()}
}

// Cut takes a port down: nothing comes in and nothing goes out, whatever Open vSwitch has or does. An interface that isn't
// there is cut.
func Cut(name string) error { return set(name, "take %s down", netlink.LinkSetDown) }

// Connect takes an interface up.
func Connect(name string) error { return set(name, "take %s up", netlink.LinkSetUp) }

func set(name, doing string, change func(netlink.Link) error) error {
	l, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err == nil {
		err = change(l)
	}
	if err != nil {
		return fmt.Errorf(doing+": %w", name, err)
	}
	return nil
}

// Silence keeps the DPU's own kernel from answering what arrives at an interface that belongs to Open vSwitch. In userspace
// Open vSwitch gets only a copy: without this a host could reach the DPU, and every packet for the DPU arrived twice.
//
// The kernel uses the larger one of an interface's rp_filter and that of "all", which distributions set to 2 (loose). For an
// interface without an IPv4 address that is as good as 1, and for one with an address neither is enough: see Unaddressed.
func Silence(name string) error {
	if err := set(name, "turn off ARP on %s", arpOff); err != nil {
		return err
	}
	for _, setting := range []struct{ path, value string }{
		{"ipv6/conf/" + name + "/disable_ipv6", "1"}, // no neighbour discovery, no link-local address
		{"ipv4/conf/" + name + "/rp_filter", "1"},    // no reverse path leads there, so every packet is refused
	} {
		if err := sysctl(setting.path, setting.value); err != nil {
			return fmt.Errorf("silence %s: %w", name, err)
		}
	}
	return nil
}

// Unaddressed fails if an interface has an IPv4 address: a host behind it can reach the DPU in the same network.
func Unaddressed(name string) error {
	return set(name, "look at the addresses of %s", func(l netlink.Link) error {
		addresses, err := netlink.AddrList(l, netlink.FAMILY_V4)
		if err == nil && len(addresses) > 0 {
			err = fmt.Errorf("it has %s: take that away, and see that nothing on this DPU puts it back", addresses[0].IPNet)
		}
		return err
	})
}

func arpOff(l netlink.Link) error {
	if l.Attrs().RawFlags&unix.IFF_NOARP != 0 {
		return nil
	}
	return netlink.LinkSetARPOff(l)
}

func sysctl(path, value string) error {
	path = "/proc/sys/net/" + path
	now, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) { // no such interface, or a kernel without IPv6
		return nil
	}
	if err != nil || string(now) == value+"\n" {
		return err
	}
	return os.WriteFile(path, []byte(value), 0o600)
}
