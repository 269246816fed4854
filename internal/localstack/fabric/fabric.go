// Package fabric builds a data centre's network on one Linux computer, out of network namespaces: a routed fabric, servers,
// and DPUs with a real Open vSwitch and hosts behind them. It knows nothing of OVN or of what drives the DPUs. It needs
// root and Debian's packages iproute2 and openvswitch-switch.
package fabric

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// Root is the name of no node: it stands for the network namespace of this process.
const Root = ""

// Fabric is a running topology.
type Fabric struct {
	dir      string
	prefix   string
	topology Topology
	cables   map[end]end // both ways

	mu       sync.Mutex
	children []*process.Process
	closers  []io.Closer
	switches map[string]*process.Process // ovs-vswitchd, by DPU
	down     bool
}

// Dashes separate the prefix from the node, so no prefix is the beginning of another.
var validPrefix = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// RandomPrefix returns a unique prefix for Up.
func RandomPrefix(name string) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return name + hex.EncodeToString(random[:])
}

// Up builds a topology. Its namespaces are called PREFIX-NODE. The folder gets a run folder for each DPU; its path has to be
// short, as sockets are made there. After an error nothing is left. All processes end with this one, but the namespaces stay
// until Down. Another fabric's prefix is refused.
func Up(ctx context.Context, dir, prefix string, topology Topology) (*Fabric, error) {
	if !validPrefix.MatchString(prefix) {
		return nil, fmt.Errorf("set up fabric: prefix %q must be letters and digits", prefix)
	}
	if err := errors.Join(topology.Validate(), checkRunDirs(dir, topology)); err != nil {
		return nil, fmt.Errorf("set up fabric %s: %w", prefix, err)
	}
	if there, err := namespace.List(prefix + "-"); err != nil || len(there) > 0 {
		return nil, errors.Join(fmt.Errorf("set up fabric %s: there are %d namespaces of that name", prefix, len(there)), err)
	}
	f := &Fabric{dir: dir, prefix: prefix, topology: topology, cables: map[end]end{}, switches: map[string]*process.Process{}}
	err := f.wire()
	if err == nil {
		err = f.startSwitches(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up fabric %s: %w", prefix, err), f.Down())
	}
	return f, nil
}

// Down ends everything that runs in the fabric and removes it.
func (f *Fabric) Down() error {
	f.mu.Lock()
	children, closers := f.children, f.closers
	f.children, f.closers, f.down = nil, nil, true
	f.mu.Unlock()

	// An open socket would keep its namespace.
	for _, each := range closers {
		_ = each.Close()
	}
	var killed sync.WaitGroup
	for _, child := range children {
		killed.Go(child.Kill)
	}
	killed.Wait()
	return Down(f.prefix)
}

// Down removes the fabric of that prefix, wherever its maker has died: all processes in its namespaces, then the namespaces.
// No such fabric is no error.
func Down(prefix string) error {
	if !validPrefix.MatchString(prefix) {
		return fmt.Errorf("take down fabric: prefix %q must be letters and digits", prefix)
	}
	names, err := namespace.List(prefix + "-")
	if err == nil {
		err = namespace.Remove(names...)
	}
	if err != nil {
		return fmt.Errorf("take down fabric %s: %w", prefix, err)
	}
	return nil
}

// Topology returns what the fabric was built from.
func (f *Fabric) Topology() Topology { return f.topology }

// Namespace returns the name of a node's network namespace, as "ip netns" knows it. Root's is "".
func (f *Fabric) Namespace(node string) string {
	if node == Root {
		return Root
	}
	return f.prefix + "-" + node
}

// Do runs code in a node: see namespace.Do.
func (f *Fabric) Do(node string, code func() error) error {
	return namespace.Do(f.Namespace(node), code)
}

// Start starts a process in a node. It ends with the fabric, and with this process.
func (f *Fabric) Start(node string, command process.Command) (*process.Process, error) {
	if node != Root {
		command.Args = slices.Concat([]string{"netns", "exec", f.Namespace(node), command.Path}, command.Args)
		command.Path = "ip"
	}
	started, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		started.Kill()
		return nil, fmt.Errorf("start %s: the fabric is down", command.Name)
	}
	f.children = append(f.children, started)
	return started, nil
}

// Command prepares a short command in a node.
func (f *Fabric) Command(ctx context.Context, node, path string, args ...string) *exec.Cmd {
	if node == Root {
		return exec.CommandContext(ctx, path, args...)
	}
	return exec.CommandContext(ctx, "ip", slices.Concat([]string{"netns", "exec", f.Namespace(node), path}, args)...)
}

// RunDir returns the folder for everything that runs on a DPU: its sockets, logs and PID files.
func (f *Fabric) RunDir(dpu string) string { return filepath.Join(f.dir, dpu) }

// Serve answers probes that reach a port of a node, until it is closed or the fabric goes down.
func (f *Fabric) Serve(node string, port uint16) (*probe.Server, error) {
	server, err := probe.Serve(f.Namespace(node), port)
	if err != nil {
		return nil, fmt.Errorf("serve on %s: %w", node, err)
	}
	f.closeOnDown(server)
	return server, nil
}

// Reach probes once, from the node that p.From names: see probe.Reach.
func (f *Fabric) Reach(ctx context.Context, p probe.Probe) (probe.Answer, error) {
	p.From = f.Namespace(p.From)
	return probe.Reach(ctx, p)
}

// Stream keeps probing, from the node that p.From names: see probe.Start.
func (f *Fabric) Stream(ctx context.Context, p probe.Probe) (*probe.Stream, error) {
	p.From = f.Namespace(p.From)
	stream, err := probe.Start(ctx, p)
	if err != nil {
		return nil, err
	}
	f.closeOnDown(stream)
	return stream, nil
}

// Forward listens in one node and passes each TCP connection on to an address as seen from another one, until it is closed
// or the fabric goes down. Port 0 chooses a free one.
func (f *Fabric) Forward(from string, listen netip.AddrPort, to string, target netip.AddrPort) (*Forwarder, error) {
	forwarder, err := forward(f.Namespace(from), listen, f.Namespace(to), target)
	if err != nil {
		return nil, fmt.Errorf("forward %s of %s: %w", listen, f.Namespace(from), err)
	}
	f.closeOnDown(forwarder)
	return forwarder, nil
}

func (f *Fabric) closeOnDown(c io.Closer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closers = append(f.closers, c)
}
