package boot

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/bedplate/bedplate/internal/localstack/boot/cloudcontroller"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// What is in a machine's folder.
const (
	consoleLog  = "console.log"
	diskFolder  = "disk"  // the machine's files
	stateFolder = "state" // logs and data of its processes, which a real machine has inside of containers
)

const requestTimeout = 10 * time.Second

// machine is a Machine that is on.
type machine struct {
	Machine
	rack    *Rack
	dir     string
	console *slog.Logger
	cancel  context.CancelFunc
	done    chan struct{} // closed when nothing of the machine is left

	// atPowerOff undoes what the boot did, last first. Only the machine's own goroutine uses it.
	atPowerOff []func()
}

// start makes the machine's folder and switches the machine on.
func (r *Rack) start(m Machine) (*machine, error) {
	dir := filepath.Join(r.config.Dir, m.ID)
	// What a killed lab left behind is not on this machine's disk.
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	for _, folder := range []string{diskFolder, stateFolder} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, err
		}
	}
	console, err := os.OpenFile(filepath.Join(dir, consoleLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	running := &machine{
		Machine: m, rack: r, dir: dir, cancel: cancel, done: make(chan struct{}),
		console: slog.New(slog.NewTextHandler(console, nil)),
	}
	go func() {
		defer close(running.done)
		running.run(ctx)
		_ = console.Close()
		if err := os.RemoveAll(dir); err != nil {
			r.config.Log.Error("disk not erased", "machine", m.ID, "error", err)
		}
	}()
	return running, nil
}

// stop switches the machine off and returns when nothing of it is left.
func (m *machine) stop() {
	m.cancel()
	<-m.done
}

// run is the time between power on and power off. A machine whose boot fails stays on, as in a data centre.
func (m *machine) run(ctx context.Context) {
	defer m.undo()
	began := time.Now()
	err := m.boot(ctx)
	switch {
	case err == nil:
		m.console.Info("boot finished", "after", time.Since(began).Round(time.Millisecond))
	case ctx.Err() == nil:
		m.console.Error("boot stopped", "error", err)
		m.rack.config.Log.Warn("machine did not boot", "machine", m.ID, "console", m.path(consoleLog))
	}
	<-ctx.Done()
}

func (m *machine) undo() {
	for i := len(m.atPowerOff) - 1; i >= 0; i-- {
		m.atPowerOff[i]()
	}
}

// watch reports processes that end while the machine is on.
func (m *machine) watch(ctx context.Context, processes []*process.Process) {
	var watching sync.WaitGroup
	for _, p := range processes {
		watching.Go(func() {
			select {
			case <-ctx.Done():
			case <-p.Done():
				m.console.Error("process ended", "error", p.ExitError())
				m.rack.config.Log.Error("process of a machine ended", "machine", m.ID, "process", p.Name(),
					"error", p.ExitError())
			}
		})
	}
	m.atPowerOff = append(m.atPowerOff, watching.Wait)
}

// runCloudController runs the cluster's cloud controller manager here too, from the time when the cluster asks for one.
func (m *machine) runCloudController(ctx context.Context, controlPlane *controlplane.ControlPlane) error {
	admin := controlPlane.AdminConfig()
	admin.Timeout = requestTimeout
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("client for the cloud controller manager: %w", err)
	}
	run := m.rack.config.CloudController
	if run == nil {
		run = m.realCloudController(controlPlane)
	}
	var running sync.WaitGroup
	running.Go(func() { run(ctx, client, m.console) })
	m.atPowerOff = append(m.atPowerOff, running.Wait)
	return nil
}

// realCloudController is the program that the cluster has a DaemonSet of.
func (m *machine) realCloudController(controlPlane *controlplane.ControlPlane) func(context.Context, kubernetes.Interface, *slog.Logger) {
	return func(ctx context.Context, client kubernetes.Interface, console *slog.Logger) {
		cloudcontroller.Run(ctx, cloudcontroller.Config{
			Client: client, WriteKubeconfig: controlPlane.WriteServiceAccountKubeconfig, Address: m.Address,
			Volumes: filepath.Join(m.path(diskFolder), "var", "lib", "kubelet", "pods", cloudcontroller.Tool),
			State:   m.path(stateFolder), Tools: m.rack.config.Tools, Console: console,
		})
	}
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }
