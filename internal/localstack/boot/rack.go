// Package boot powers on simulated machines that really boot, as far as that is possible without hardware: a machine gets
// its user data and the metadata of its instance, nothing else. cloud-init's job, kubeadm's checks, etcd, kube-apiserver
// and the join over TLS bootstrap are real; KWOK stands for the kubelet.
package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"path/filepath"
	"sync"

	"k8s.io/client-go/kubernetes"

	"github.com/bedplate/bedplate/internal/localstack/boot/cloudcontroller"
	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/boot/loadbalancer"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// Tools are the programs that machines need.
var Tools = append([]string{kubelet.Tool, cloudcontroller.Tool}, controlplane.Tools...)

// Config describes a rack.
type Config struct {
	Dir   string    // holds one folder per machine that is on
	Tools tools.Dir // has the programs in Tools
	Log   *slog.Logger

	// Balanced: who calls Balance has the clusters' endpoints. Otherwise a rack has one for each cluster, as a virtual address that its
	// control plane takes.
	Balanced bool
	// Ignition: machines fetch the configuration that their user data points to. Otherwise they leave Ignition's alone, as where no
	// machine config server is.
	Ignition bool
	// CloudController runs beside each control plane until ctx ends. Nil is that of the package cloudcontroller.
	CloudController func(ctx context.Context, client kubernetes.Interface, console *slog.Logger)
}

// Machine is what a machine knows when it boots.
type Machine struct {
	ID       string            // names its folder
	Hostname string            // name of its Node, unless its user data says otherwise
	Address  netip.Addr        // its own loopback address: its ports are there
	UserData []byte            // may be empty
	Metadata map[string]string // what the instance metadata service returns
}

// Rack holds all machines of one data centre.
type Rack struct {
	config Config

	mu       sync.Mutex
	closed   bool
	machines map[string]*machine
	// endpoints are the virtual addresses of clusters whose control plane is on this rack, or what Balance was told.
	endpoints map[netip.AddrPort]*loadbalancer.LoadBalancer
}

// New returns an empty rack.
func New(config Config) *Rack {
	return &Rack{
		config:    config,
		machines:  map[string]*machine{},
		endpoints: map[netip.AddrPort]*loadbalancer.LoadBalancer{},
	}
}

// PowerOn starts a machine with an empty disk. It returns at once; how the boot continues is in <Dir>/<ID>/console.log.
func (r *Rack) PowerOn(m Machine) error {
	if m.ID != filepath.Base(m.ID) || !filepath.IsLocal(m.ID) || m.ID == "." {
		return fmt.Errorf("power on: %q can't be the ID of a machine", m.ID)
	}
	if !m.Address.Is4() || !m.Address.IsLoopback() {
		return fmt.Errorf("power on %s: %s is not an IPv4 loopback address", m.ID, m.Address)
	}
	m.UserData, m.Metadata = bytes.Clone(m.UserData), maps.Clone(m.Metadata)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("power on: the rack is closed")
	}
	if _, on := r.machines[m.ID]; on {
		return fmt.Errorf("power on: %s is on already", m.ID)
	}
	running, err := r.start(m)
	if err != nil {
		return fmt.Errorf("power on %s: %w", m.ID, err)
	}
	r.machines[m.ID] = running
	return nil
}

// PowerOff ends everything that runs on a machine, erases its folder, and returns then. Its Node stays, and becomes
// NotReady because nothing sends its heartbeat. A machine that is off stays off.
func (r *Rack) PowerOff(id string) {
	r.mu.Lock()
	running := r.machines[id]
	r.mu.Unlock()
	if running == nil {
		return
	}
	running.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.machines[id] == running {
		delete(r.machines, id)
	}
}

// Close powers off all machines and refuses to power on others.
func (r *Rack) Close() {
	r.mu.Lock()
	r.closed = true
	running := maps.Clone(r.machines)
	r.mu.Unlock()

	var stopped sync.WaitGroup
	for id := range running {
		stopped.Go(func() { r.PowerOff(id) })
	}
	stopped.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.balance(nil) // only ends them
}
