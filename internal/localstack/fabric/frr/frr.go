// Package frr makes a node of a fabric a router that speaks BGP, with FRR's zebra and bgpd. What it learns is in the node's
// routing table, so that packets go there. It needs root and Debian's package frr.
package frr

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// daemons is where Debian puts what isn't for users' hands.
const daemons = "/usr/lib/frr"

// Daemons belong to root: the user of FRR's own doesn't get to files in a user's home. Their group has to be the one that is
// meant for sockets.
const owner, group = "root", "frrvty"

// Config of a router.
type Config struct {
	ASN       uint32
	RouterID  netip.Addr
	Neighbors []Neighbor
}

// Neighbor that the router waits for. It doesn't dial itself.
type Neighbor struct {
	Address  netip.Addr
	ASN      uint32
	Password string // "" is none
	Hops     int    // 0 means that it has to be on the same link
	// TTLSecurity is how many hops away it may be, by the TTL of its packets; 0 is without. It excludes Hops.
	TTLSecurity int
}

// Router is a running one.
type Router struct {
	dir string
}

// Check says what is missing on this computer.
func Check() error {
	for _, program := range []string{filepath.Join(daemons, "zebra"), filepath.Join(daemons, "bgpd"), "vtysh"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("FRR is missing: make lab-deps: %w", err)
		}
	}
	return nil
}

// Start makes a node a router, and returns when its daemons answer. Dir gets a folder of the node's name; its path has to be short, as
// sockets are made there.
func Start(ctx context.Context, f *fabric.Fabric, node, dir string, config Config) (*Router, error) {
	r := &Router{dir: filepath.Join(dir, node+"-frr")}
	if err := r.prepare(config); err != nil {
		return nil, fmt.Errorf("start FRR on %s: %w", node, err)
	}
	for _, daemon := range []string{"zebra", "bgpd"} {
		args := []string{
			"-f", r.path(daemon + ".conf"), "-i", r.path(daemon + ".pid"), "-z", r.path("zserv.api"), "--vty_socket", r.dir, "-P", "0",
			"--log", "stdout", "-u", owner, "-g", group,
		}
		child, err := f.Start(node, process.Command{
			Name: daemon, Path: filepath.Join(daemons, daemon), Args: args, Log: r.path(daemon + ".log"),
		})
		if err != nil {
			return nil, err
		}
		if err := child.WaitReady(ctx, func(ctx context.Context) error {
			_, err := r.run(ctx, "-d", daemon, "-c", "show version")
			return err
		}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Router) path(name string) string { return filepath.Join(r.dir, name) }

func (r *Router) prepare(config Config) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	for name, content := range map[string]string{"zebra.conf": "", "bgpd.conf": config.text()} {
		if err := os.WriteFile(r.path(name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// text is a configuration as FRR reads it. docs/hydrazine-bgp.md says what else a router in production has.
func (c Config) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "router bgp %d\n bgp router-id %s\n no bgp ebgp-requires-policy\n", c.ASN, c.RouterID)
	for _, n := range c.Neighbors {
		fmt.Fprintf(&b, " neighbor %s remote-as %d\n neighbor %s passive\n", n.Address, n.ASN, n.Address)
		if n.Password != "" {
			fmt.Fprintf(&b, " neighbor %s password %s\n", n.Address, n.Password)
		}
		if n.Hops > 0 {
			fmt.Fprintf(&b, " neighbor %s ebgp-multihop %d\n", n.Address, n.Hops)
		}
		if n.TTLSecurity > 0 {
			fmt.Fprintf(&b, " neighbor %s ttl-security hops %d\n", n.Address, n.TTLSecurity)
		}
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		fmt.Fprintf(&b, " address-family %s unicast\n", family)
		for _, n := range c.Neighbors {
			fmt.Fprintf(&b, "  neighbor %s activate\n", n.Address)
		}
		b.WriteString(" exit-address-family\n")
	}
	return b.String()
}

// run asks the daemons something.
func (r *Router) run(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "vtysh", append([]string{"--vty_socket", r.dir}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("vtysh %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// Do runs commands as a user types them, and returns what they print. Those of the configuration come after "configure".
func (r *Router) Do(ctx context.Context, commands ...string) (string, error) {
	var args []string
	for _, command := range commands {
		args = append(args, "-c", command)
	}
	return r.run(ctx, args...)
}

// Path is a path to a prefix that a neighbor has announced.
type Path struct {
	From    string // the neighbor's address
	NextHop string
	Stale   bool // the neighbor is being restarted
}

// Routes returns what has been learned, by prefix.
func (r *Router) Routes(ctx context.Context) (map[string][]Path, error) {
	all, families := map[string][]Path{}, []string{"ipv4", "ipv6"}
	var commands []string
	for _, family := range families {
		commands = append(commands, "show bgp "+family+" unicast json")
	}
	out, err := r.Do(ctx, commands...)
	if err != nil {
		return nil, err
	}
	tables := json.NewDecoder(strings.NewReader(out))
	for range families {
		var table struct {
			Routes map[string][]struct {
				PeerID   string
				Stale    bool
				Nexthops []struct {
					IP   string
					Used bool
				}
			}
		}
		if err := tables.Decode(&table); err != nil {
			return nil, fmt.Errorf("read the routes: %w", err)
		}
		for prefix, paths := range table.Routes {
			for _, p := range paths {
				for _, hop := range p.Nexthops {
					if hop.Used {
						all[prefix] = append(all[prefix], Path{From: p.PeerID, NextHop: hop.IP, Stale: p.Stale})
					}
				}
			}
		}
	}
	return all, nil
}

// Preserved reports whether a neighbor said of both IP versions, when the session was opened, that it kept forwarding
// meanwhile (RFC 4724). If it didn't, the router forgot what it knew from the session before.
func (r *Router) Preserved(ctx context.Context, neighbor string) (bool, error) {
	out, err := r.Do(ctx, "show bgp neighbors "+neighbor+" json")
	if err != nil {
		return false, err
	}
	type family struct{ FBit bool }
	var neighbors map[string]struct {
		GracefulRestartInfo struct{ IPv4Unicast, IPv6Unicast family }
	}
	if err := json.Unmarshal([]byte(out), &neighbors); err != nil {
		return false, fmt.Errorf("read the neighbors: %w", err)
	}
	info := neighbors[neighbor].GracefulRestartInfo
	return info.IPv4Unicast.FBit && info.IPv6Unicast.FBit, nil
}
