package overlay

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// Reservation is an address that the DHCP server has for one host of one group.
type Reservation struct {
	Circuit string // the group's circuit-id
	MAC     string
	Address netip.Addr
	Network netip.Prefix
	Gateway netip.Addr
}

// StartDHCP starts the DHCP server, or starts it again with other addresses. A client renews its lease when half of it is over.
// An address can be in one pool only, so two groups must not have the same one from here.
func (o *Overlay) StartDHCP(ctx context.Context, lease time.Duration, reservations []Reservation) error {
	if o.running(fabric.DHCP) {
		o.Kill(fabric.DHCP)
	}
	dir := o.RunDir(fabric.DHCP)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the DHCP server's folder: %w", err)
	}
	config, leases := filepath.Join(dir, "dhcpd.conf"), filepath.Join(dir, "dhcpd.leases")
	if err := os.WriteFile(config, []byte(o.dhcpConfig(lease, reservations)), 0o600); err != nil {
		return fmt.Errorf("configure the DHCP server: %w", err)
	}
	if err := os.WriteFile(leases, nil, 0o600); err != nil {
		return fmt.Errorf("make the DHCP server's leases: %w", err)
	}
	p, err := o.Start(fabric.DHCP, process.Command{
		Name: "dhcpd", Path: "dhcpd", Log: o.DHCPLog(),
		Args: []string{"-4", "-f", "-d", "-cf", config, "-lf", leases, "-pf", filepath.Join(dir, "dhcpd.pid"), "eth0"},
	})
	if err != nil {
		return err
	}
	o.remember(fabric.DHCP, p)
	return p.WaitReady(ctx, func(context.Context) error { return contains(o.DHCPLog(), "Server starting service") })
}

// DHCPLog is the file that the DHCP server says in whom it gives what.
func (o *Overlay) DHCPLog() string { return filepath.Join(o.RunDir(fabric.DHCP), "dhcpd.log") }

func contains(path, words string) error {
	text, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(text), words) {
		err = fmt.Errorf("%s says nothing of %q", path, words)
	}
	return err
}

// dhcpConfig has a pool for each host, which is known by its group's circuit-id and its Ethernet address. The subnets are of all
// groups: those of several may be the same.
func (o *Overlay) dhcpConfig(lease time.Duration, reservations []Reservation) string {
	var text strings.Builder
	seconds := int(lease.Seconds())
	fmt.Fprintf(&text, "authoritative;\nping-check false;\ndefault-lease-time %d;\nmax-lease-time %d;\n", seconds, seconds)
	subnet := func(p netip.Prefix, body string) {
		mask := net.IP(net.CIDRMask(p.Bits(), p.Addr().BitLen()))
		fmt.Fprintf(&text, "subnet %s netmask %s {\n%s}\n", p.Masked().Addr(), mask, body)
	}
	for _, s := range o.Topology().Subnets {
		subnet(s.Gateways[0], "") // where it is itself, and where the relays are
	}
	pools := map[netip.Prefix]string{}
	var networks []netip.Prefix
	for i, r := range reservations {
		fmt.Fprintf(&text, "class \"%d\" { match if option agent.circuit-id = %q and hardware = 1:%s; }\n", i, r.Circuit, r.MAC)
		if pools[r.Network] == "" {
			networks = append(networks, r.Network)
			pools[r.Network] = fmt.Sprintf("  option routers %s;\n", r.Gateway)
		}
		pools[r.Network] += fmt.Sprintf("  pool { allow members of \"%d\"; range %s; }\n", i, r.Address)
	}
	for _, network := range networks {
		subnet(network, pools[network])
	}
	return text.String()
}

// clientScript is what dhclient has done with its leases.
const clientScript = `#!/bin/sh
case $reason in
BOUND|RENEW|REBIND|REBOOT)
	ip address replace "$new_ip_address/$new_subnet_mask" dev "$interface"
	ip route replace default via "$new_routers" ;;
EXPIRE|FAIL|RELEASE|STOP)
	ip -4 address flush dev "$interface" ;;
esac
echo "$reason $new_ip_address" >> "$EVENTS"
`

// Lease lets a host ask for its address by DHCP, returns when it has one, and lets it renew that.
func (o *Overlay) Lease(ctx context.Context, host string) error {
	dir := o.RunDir("dhcp-" + host)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the DHCP client: %w", err)
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte(clientScript), 0o700); err != nil { //nolint:gosec // a program
		return fmt.Errorf("write the script of the DHCP client: %w", err)
	}
	p, err := o.Start(host, process.Command{
		Name: "dhclient of " + host, Path: "dhclient", Log: filepath.Join(dir, "dhclient.log"),
		Args: []string{
			"-4", "-1", "-d", "-e", "EVENTS=" + o.Leases(host), "-sf", script, "-cf", "/dev/null", "-lf", filepath.Join(dir, "leases"),
			"-pf", filepath.Join(dir, "pid"), "eth0",
		},
	})
	if err != nil {
		return err
	}
	o.remember("dhclient of "+host, p)
	return p.WaitReady(ctx, func(context.Context) error { return contains(o.Leases(host), "BOUND ") })
}

// Leases is the file with what has happened to a host's lease, a line for each event: a word, such as BOUND or RENEW, and the
// address.
func (o *Overlay) Leases(host string) string { return filepath.Join(o.RunDir("dhcp-"+host), "events") }
