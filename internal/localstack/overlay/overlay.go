// Package overlay runs Hydrazine on a fabric as in a data centre: an agent on each DPU, the manager where the DPUs reach it,
// and what else the topology has servers for: BGP speakers, a gRPC proxy, a DHCP server. All of it is real but the hardware.
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
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/frr"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

const (
	agentPort = 9660
	health    = "127.0.0.1:9470" // of each program, on its own server

	// longestSocket is the longest name of a socket of a central in the manager's folder.
	longestSocket = "/ovn/ovn-00000000-0000-0000-0000-000000000000/northd.ctl"
	socketLimit   = 107 // bytes in the path of a UNIX socket
)

// Check says why no overlay can be run on this computer.
func Check() error {
	problems := []error{fabric.Check(), frr.Check()}
	for _, program := range []string{"ovn-northd", "ovn-controller", "dhcpd", "dhclient"} {
		if _, err := exec.LookPath(program); err != nil {
			problems = append(problems, fmt.Errorf("run \"make lab-deps\": %w", err))
		}
	}
	return errors.Join(problems...)
}

// ManagerMemory is what the manager's garbage collector keeps to, as in config/hydrazine.
const ManagerMemory = "400MiB"

// Config of an overlay.
type Config struct {
	// Dir is for logs, state and sockets. Its path must be short.
	Dir string
	// Agent and Manager are programs. So are Speaker and Proxy, where the topology has servers for them.
	Agent, Manager, Speaker, Proxy string
	// APIServer is where the manager finds it, and where it is, by loopback.
	APIServer netip.AddrPort
	// Kubeconfig is the manager's. The others have their own.
	Kubeconfig, SpeakerKubeconfig, ProxyKubeconfig string
	// SpeakersNamespace is where the speakers' Leases are.
	SpeakersNamespace string
	// Proxied is where the proxy is reached from outside its namespace.
	Proxied netip.AddrPort
	// Flags are more flags of the manager's.
	Flags []string
	// Served are ports of the manager's on loopback that are reached from outside its namespace too, such as its webhooks'.
	Served []netip.AddrPort
	// Crashed is called for each unexpected end, from any goroutine; may be nil.
	Crashed func(error)
	// KeepManager starts a manager again that ends by itself, as Kubernetes does.
	KeepManager bool
}

// Overlay is Hydrazine on a fabric.
type Overlay struct {
	*fabric.Fabric
	// Router is the fabric's, where there are speakers.
	Router *frr.Router

	config   Config
	issuer   *issuer
	forwards []*fabric.Forwarder

	mutex     sync.Mutex
	processes map[string]*process.Process
	expected  map[*process.Process]bool // that were stopped here
	flags     []string                  // more of the manager's, at its last start
	life      context.Context           // ends with Stop
	end       context.CancelFunc
}

func newOverlay(f *fabric.Fabric, config Config) (*Overlay, error) {
	if config.Crashed == nil {
		config.Crashed = func(error) {}
	}
	o := &Overlay{Fabric: f, config: config, processes: map[string]*process.Process{}, expected: map[*process.Process]bool{}}
	o.life, o.end = context.WithCancel(context.Background())
	var err error
	o.issuer, err = newIssuer(filepath.Join(config.Dir, "tls"))
	return o, err
}

// Start the agents and the manager, and return when they answer.
func Start(ctx context.Context, f *fabric.Fabric, config Config) (*Overlay, error) {
	o, err := newOverlay(f, config)
	if err != nil {
		return nil, err
	}
	err = o.forward()
	if err == nil {
		group, groupCtx := errgroup.WithContext(ctx)
		group.Go(func() error { return o.StartManager(groupCtx) })
		o.startServices(groupCtx, group)
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

// startServices starts what there are servers for.
func (o *Overlay) startServices(ctx context.Context, group *errgroup.Group) {
	if speakers := o.speakers(); len(speakers) > 0 {
		group.Go(func() error { return o.startRouter(ctx) })
		for _, name := range speakers {
			group.Go(func() error { return o.StartSpeaker(ctx, name) })
		}
	}
	if o.server(fabric.Proxy).IsValid() {
		group.Go(func() error { return o.StartProxy(ctx) })
	}
}

// forward what the namespaces have to reach of each other although no packet passes between them.
func (o *Overlay) forward() error {
	add := func(from string, listen netip.AddrPort, to string, target netip.AddrPort) error {
		f, err := o.Forward(from, listen, to, target)
		if err != nil {
			return err
		}
		o.forwards = append(o.forwards, f)
		return nil
	}
	api := o.config.APIServer
	for _, node := range []string{fabric.Control, fabric.Speaker1, fabric.Speaker2, fabric.Proxy} {
		if !o.server(node).IsValid() {
			continue
		}
		if err := add(node, api, fabric.Root, api); err != nil {
			return err
		}
	}
	for _, address := range o.config.Served {
		if err := add(fabric.Root, address, fabric.Control, address); err != nil {
			return err
		}
	}
	if !o.config.Proxied.IsValid() {
		return nil
	}
	return add(fabric.Root, o.config.Proxied, fabric.Proxy, o.ProxyAddress())
}

// Stop what was started here. The fabric with all that is in it is the caller's to take down.
func (o *Overlay) Stop() error {
	o.end()
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
		"--ovs-db=unix:" + o.Database(name), "--ovs-rundir=" + o.RunDir(name),
		"--ovn-rundir=" + o.RunDir(name), "--ovn-logdir=" + o.RunDir(name),
	}
	tls, err := o.Certify(name, dpu.Addresses...)
	if err != nil {
		return err
	}
	args = append(args, tls.flags()...)
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

// StartManager starts the manager, with the centrals that there are. More flags win over those from the configuration.
func (o *Overlay) StartManager(ctx context.Context, more ...string) error {
	control := o.server(fabric.Control)
	if over := len(o.config.Dir+longestSocket) - socketLimit; over > 0 {
		return fmt.Errorf("the path of folder %s is %d bytes too long for sockets", o.config.Dir, over)
	}
	centrals := filepath.Join(o.config.Dir, "ovn")
	if err := os.MkdirAll(centrals, 0o700); err != nil {
		return fmt.Errorf("make the centrals' folder: %w", err)
	}
	tls, err := o.Certify(ManagerName)
	if err != nil {
		return err
	}
	o.mutex.Lock()
	o.flags = more
	o.mutex.Unlock()
	return o.run(ctx, fabric.Control, process.Command{
		Name: "hydrazine-manager", Path: o.config.Manager, Env: []string{"GOMEMLIMIT=" + ManagerMemory},
		Log: filepath.Join(o.config.Dir, "hydrazine-manager.log"),
		Args: slices.Concat([]string{
			"--kubeconfig=" + o.config.Kubeconfig, "--centrals-dir=" + centrals, "--centrals-address=" + control.String(),
			fmt.Sprintf("--agent-port=%d", agentPort), "--health-addr=" + health,
		}, tls.flags(), o.config.Flags, more),
	})
}

// run a program on a server, and return when it says that it's ready.
func (o *Overlay) run(ctx context.Context, server string, command process.Command) error {
	p, err := o.Start(server, command)
	if err != nil {
		return err
	}
	o.remember(server, p)
	return p.WaitReady(ctx, func(ctx context.Context) error { return o.answers(ctx, server, "http://"+health+"/readyz") })
}

// Kill -9 the program of a node: the agent of a DPU, the manager on fabric.Control, a speaker.
func (o *Overlay) Kill(node string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.expected[o.processes[node]] = true
	o.processes[node].Kill()
}

func (o *Overlay) running(node string) bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.processes[node] != nil
}

func (o *Overlay) remember(node string, p *process.Process) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.life.Err() != nil { // stopped while it was started
		o.expected[p] = true
		p.Kill()
	}
	o.processes[node] = p
	go o.watch(node, p)
}

func (o *Overlay) watch(node string, p *process.Process) {
	<-p.Done()
	o.mutex.Lock()
	expected, flags := o.expected[p], o.flags
	delete(o.expected, p)
	o.mutex.Unlock()
	switch {
	case expected:
	case node == fabric.Control && o.config.KeepManager:
		o.config.Crashed(&process.Restarted{End: p.ExitError()})
		o.restartManager(flags)
	default:
		o.config.Crashed(p.ExitError())
	}
}

// restartPause keeps a manager that ends at once from being started all the time.
const restartPause = time.Second

// restartManager starts it again. If it ends before it is ready, watch of that process reports it.
func (o *Overlay) restartManager(flags []string) {
	select {
	case <-o.life.Done():
		return
	case <-time.After(restartPause):
	}
	var ended *process.ExitError
	if err := o.StartManager(o.life, flags...); err != nil && !errors.As(err, &ended) && o.life.Err() == nil {
		o.config.Crashed(err)
	}
}

func (o *Overlay) dpu(name string) fabric.DPU {
	all := o.Topology().DPUs()
	return all[slices.IndexFunc(all, func(d fabric.DPU) bool { return d.Name == name })]
}

// server returns the first address of a server, which isn't valid where there is no such server.
func (o *Overlay) server(name string) netip.Addr {
	if all := o.serverAddresses(name); len(all) > 0 {
		return all[0]
	}
	return netip.Addr{}
}

func (o *Overlay) serverAddresses(name string) []netip.Addr {
	for _, subnet := range o.Topology().Subnets {
		for _, server := range subnet.Servers {
			if server.Name == name {
				return server.Addresses
			}
		}
	}
	return nil
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
