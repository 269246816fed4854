// Package overlay runs Hydrazine on a fabric as in a data centre: an agent on each DPU, and the manager where the DPUs reach
// it. All of it is real but the hardware.
package overlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

const (
	agentPort  = 9660
	healthPort = 9470

	// longestSocket is the longest name of a socket of a central in the manager's folder.
	longestSocket = "/ovn/ovn-00000000-0000-0000-0000-000000000000/northd.ctl"
	socketLimit   = 107 // bytes in the path of a UNIX socket
)

// Check says why no overlay can be run on this computer.
func Check() error {
	problems := []error{fabric.Check()}
	for _, program := range []string{"ovn-northd", "ovn-controller"} {
		if _, err := exec.LookPath(program); err != nil {
			problems = append(problems, fmt.Errorf("install Debian's packages ovn-central and ovn-host: %w", err))
		}
	}
	return errors.Join(problems...)
}

// Config of an overlay.
type Config struct {
	// Dir is for logs, state and sockets. Its path must be short.
	Dir string
	// Agent and Manager are the programs.
	Agent, Manager string
	// APIServer is where the manager finds it, and where it is, by loopback.
	APIServer netip.AddrPort
	// Kubeconfig is the manager's.
	Kubeconfig string
	// Flags are more flags of the manager's.
	Flags []string
	// Served are ports of the manager's on loopback that are reached from outside its namespace too, such as its webhooks'.
	Served []netip.AddrPort
	// Crashed is told of each end that nobody here asked for, from any goroutine; may be nil.
	Crashed func(error)
}

// Overlay is Hydrazine on a fabric.
type Overlay struct {
	*fabric.Fabric
	config   Config
	forwards []*fabric.Forwarder

	mutex     sync.Mutex
	processes map[string]*process.Process
	expected  map[*process.Process]bool // that were told to end
}

// Start the agents and the manager, and return when they answer.
func Start(ctx context.Context, f *fabric.Fabric, config Config) (*Overlay, error) {
	if config.Crashed == nil {
		config.Crashed = func(error) {}
	}
	o := &Overlay{Fabric: f, config: config, processes: map[string]*process.Process{}, expected: map[*process.Process]bool{}}
	err := o.forward()
	if err == nil {
		group, groupCtx := errgroup.WithContext(ctx)
		group.Go(func() error { return o.StartManager(groupCtx) })
		for _, dpu := range f.Topology().DPUs() {
			group.Go(func() error { return o.StartAgent(groupCtx, dpu.Name) })
		}
		err = group.Wait()
	}
	if err != nil {
		return nil, errors.Join(err, o.Stop())
	}
	return o, nil
}

// forward what the namespaces have to reach of each other although no packet passes between them.
func (o *Overlay) forward() error {
	add := func(from, to string, address netip.AddrPort) error {
		f, err := o.Forward(from, address, to, address)
		if err != nil {
			return fmt.Errorf("forward %s: %w", address, err)
		}
		o.forwards = append(o.forwards, f)
		return nil
	}
	if err := add(fabric.Control, fabric.Root, o.config.APIServer); err != nil {
		return err
	}
	for _, address := range o.config.Served {
		if err := add(fabric.Root, fabric.Control, address); err != nil {
			return err
		}
	}
	return nil
}

// Stop what was started here. The fabric with all that is in it is the caller's to take down.
func (o *Overlay) Stop() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, p := range o.processes {
		o.expected[p] = true
		p.Kill()
	}
	var errs []error
	for _, f := range o.forwards {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// StartAgent starts the agent of a DPU, with all that it had before.
func (o *Overlay) StartAgent(ctx context.Context, name string) error {
	dpu := o.dpu(name)
	args := []string{
		"--state-dir=" + filepath.Join(o.RunDir(name), "agent"), "--chassis=" + name, "--datapath=netdev",
		fmt.Sprintf("--listen=:%d", agentPort), "--ovs-db=unix:" + o.Database(name), "--ovs-rundir=" + o.RunDir(name),
		"--ovn-rundir=" + o.RunDir(name), "--ovn-logdir=" + o.RunDir(name),
	}
	for i := range max(dpu.NICs, 1) {
		args = append(args, "--uplink="+fabric.NIC(i))
	}
	p, err := o.Start(name, process.Command{
		Name: "agent of " + name, Path: o.config.Agent, Args: args, Env: o.Environment(name), Log: filepath.Join(o.RunDir(name), "agent.log"),
	})
	if err != nil {
		return err
	}
	o.remember(name, p)
	address := net.JoinHostPort(dpu.Addresses[0].String(), fmt.Sprint(agentPort))
	return p.WaitReady(ctx, func(ctx context.Context) error {
		connection, err := o.dial(ctx, name, address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// StartManager starts the manager, with the centrals that there are.
func (o *Overlay) StartManager(ctx context.Context) error {
	control := o.server(fabric.Control)
	if over := len(o.config.Dir+longestSocket) - socketLimit; over > 0 {
		return fmt.Errorf("the path of folder %s is %d bytes too long for sockets", o.config.Dir, over)
	}
	centrals := filepath.Join(o.config.Dir, "ovn")
	if err := os.MkdirAll(centrals, 0o700); err != nil {
		return fmt.Errorf("make the centrals' folder: %w", err)
	}
	health := fmt.Sprintf("127.0.0.1:%d", healthPort)
	p, err := o.Start(fabric.Control, process.Command{
		Name: "hydrazine-manager", Path: o.config.Manager, Log: filepath.Join(o.config.Dir, "hydrazine-manager.log"),
		Args: slices.Concat([]string{
			"--kubeconfig=" + o.config.Kubeconfig, "--centrals-dir=" + centrals, "--centrals-address=" + control.String(),
			fmt.Sprintf("--agent-port=%d", agentPort), "--health-addr=" + health,
		}, o.config.Flags),
	})
	if err != nil {
		return err
	}
	o.remember(fabric.Control, p)
	return p.WaitReady(ctx, func(ctx context.Context) error {
		return o.answers(ctx, fabric.Control, "http://"+health+"/readyz")
	})
}

// Kill -9 the agent of a DPU, or the manager, of which the node is fabric.Control.
func (o *Overlay) Kill(node string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.expected[o.processes[node]] = true
	o.processes[node].Kill()
}

func (o *Overlay) remember(node string, p *process.Process) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.processes[node] = p
	go o.watch(p)
}

func (o *Overlay) watch(p *process.Process) {
	<-p.Done()
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if !o.expected[p] {
		o.config.Crashed(p.ExitError())
	}
	delete(o.expected, p)
}

func (o *Overlay) dpu(name string) fabric.DPU {
	all := o.Topology().DPUs()
	return all[slices.IndexFunc(all, func(d fabric.DPU) bool { return d.Name == name })]
}

func (o *Overlay) server(name string) netip.Addr {
	for _, subnet := range o.Topology().Subnets {
		for _, server := range subnet.Servers {
			if server.Name == name {
				return server.Addresses[0]
			}
		}
	}
	return netip.Addr{}
}

func (o *Overlay) dial(ctx context.Context, node, address string) (connection net.Conn, err error) {
	err = o.Do(node, func() error {
		connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return err
	})
	return connection, err
}

// answers says why an HTTP server in a namespace doesn't answer that all is well.
func (o *Overlay) answers(ctx context.Context, node, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return o.dial(ctx, node, address) },
	}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}
