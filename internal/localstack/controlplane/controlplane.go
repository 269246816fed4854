// Package controlplane runs a real Kubernetes control plane on a loopback address: etcd, kube-apiserver and
// kube-controller-manager as child processes. Several form one when each but the first joins the etcd of the others. There is a scheduler where one is
// wanted, and no node: what runs pods is the caller's business.
package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// stopGrace is short: nothing here is worth a slow goodbye, and etcd's data is thrown away.
const stopGrace = 2 * time.Second

// The ports on a machine set up by kubeadm.
const (
	APIPort  = 6443
	EtcdPort = 2379
	PeerPort = 2380
)

// Tools are the programs that Start needs.
var Tools = []string{"etcd", "kube-apiserver", "kube-controller-manager"}

// SchedulerTool is what Start needs besides, with a scheduler.
const SchedulerTool = "kube-scheduler"

// Config describes a control plane.
type Config struct {
	Name    string     // of the cluster; also the context in kubeconfigs
	Member  string     // etcd member name; kubeadm takes the node's name
	Dir     string     // for etcd's data, kubeconfigs and logs
	PKI     pki.Dir    // with all CAs and the service account keys; missing leaf certificates are added
	Tools   tools.Dir  // folder with Tools
	Address netip.Addr // loopback address to listen on

	Endpoint    string   // "host:port" for clients; default: Address and APIPort
	ExtraSANs   []string // more names and addresses in the API server's certificate
	ServiceCIDR string   // default 10.96.0.0/12
	PodCIDR     string   // if set, nodes get a part of it each

	EtcdMembers []string // client URLs of the etcd that this machine joins; empty: it starts one of its own

	Scheduler bool // pods are bound to nodes

	Audit bool // what Pods' programs write is recorded in AuditLog

	Controllers           []string // of kube-controller-manager; empty: its default ("*")
	ControllerManagerArgs []string // more flags, "--flag=value"
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	cfg       Config
	processes []*process.Process // in the order of start
	admin     *rest.Config
}

// Start starts the control plane and returns when its API server is ready and its controllers run. After an error
// nothing is left running.
func Start(ctx context.Context, cfg Config) (*ControlPlane, error) {
	cfg = withDefaults(cfg)
	needed := Tools
	if cfg.Scheduler {
		needed = append(slices.Clone(needed), SchedulerTool)
	}
	if err := cfg.Tools.Require(needed...); err != nil {
		return nil, err
	}
	c := &ControlPlane{cfg: cfg}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start control plane %s: %w", cfg.Name, err)
	}
	return c, nil
}

func withDefaults(cfg Config) Config {
	if cfg.Endpoint == "" {
		cfg.Endpoint = hostPort(cfg.Address, APIPort)
	}
	if cfg.ServiceCIDR == "" {
		cfg.ServiceCIDR = "10.96.0.0/12"
	}
	if cfg.Member == "" {
		cfg.Member = cfg.Name
	}
	return cfg
}

func (c *ControlPlane) start(ctx context.Context) error {
	if err := signLeaves(c.cfg); err != nil {
		return err
	}
	admin, err := c.localConfig(adminUser, adminGroup)
	if err != nil {
		return err
	}
	c.admin = admin
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	if err := writeAuditPolicy(c.cfg); err != nil {
		return err
	}
	if err := c.run(ctx, apiserver(c.cfg), c.apiserverReady); err != nil {
		return err
	}
	commands := []func() (process.Command, error){c.controllerManager}
	if c.cfg.Scheduler {
		commands = append(commands, c.scheduler)
	}
	for _, make := range commands {
		command, err := make()
		if err != nil {
			return err
		}
		if err := c.run(ctx, command, func(context.Context) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

func (c *ControlPlane) run(ctx context.Context, command process.Command, ready func(context.Context) error) error {
	p, err := process.Start(command)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return p.WaitReady(ctx, ready)
}

// Stop ends all processes, last started first, and returns when they have ended.
func (c *ControlPlane) Stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].Stop(stopGrace)
	}
}

// Processes returns etcd, kube-apiserver, kube-controller-manager and the scheduler, if there is one, so that a caller can watch for their end.
func (c *ControlPlane) Processes() []*process.Process { return c.processes }

// Ended says which of the processes has ended, or nil.
func (c *ControlPlane) Ended() error {
	for _, p := range c.processes {
		if err := p.ExitError(); err != nil {
			return err
		}
	}
	return nil
}

// Endpoint returns "host:port" of the API server as clients should use it.
func (c *ControlPlane) Endpoint() string { return c.cfg.Endpoint }

func hostPort(address netip.Addr, port uint16) string {
	return netip.AddrPortFrom(address, port).String()
}

func (c Config) log(name string) string { return filepath.Join(c.Dir, name+".log") }
