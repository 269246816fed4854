package fabric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bedplate/bedplate/internal/localstack/process"
)

const (
	vswitchSchema = "/usr/share/openvswitch/vswitch.ovsschema"
	emptyDatabase = `["Open_vSwitch",{"op":"insert","table":"Open_vSwitch","row":{}}]`

	// longestSocket is the longest name of a socket that Open vSwitch and OVN make in a DPU's run folder.
	longestSocket = "/ovn-controller.4194304.ctl"
	socketLimit   = 107 // bytes in the path of a UNIX socket
)

// Check says why no fabric can be made on this computer.
func Check() error {
	var problems []error
	for _, program := range []string{"ip", "ovsdb-tool", "ovsdb-server", "ovs-vswitchd"} {
		if _, err := exec.LookPath(program); err != nil {
			problems = append(problems, fmt.Errorf("install Debian's packages iproute2 and openvswitch-switch: %w", err))
		}
	}
	if os.Geteuid() != 0 {
		problems = append(problems, errors.New("network namespaces need root"))
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		problems = append(problems, fmt.Errorf("there are no tap devices for Open vSwitch: %w", err))
	}
	return errors.Join(problems...)
}

func checkRunDirs(dir string, topology Topology) error {
	for _, dpu := range topology.DPUs() {
		if length := len(filepath.Join(dir, dpu.Name) + longestSocket); length > socketLimit {
			return fmt.Errorf("the path of folder %s is %d bytes too long for sockets", dir, length-socketLimit)
		}
	}
	return nil
}

// Environment returns the variables that lead Open vSwitch's and OVN's programs to a DPU.
func (f *Fabric) Environment(dpu string) []string {
	dir := f.RunDir(dpu)
	return []string{"OVS_RUNDIR=" + dir, "OVN_RUNDIR=" + dir, "OVS_DBDIR=" + dir, "OVS_LOGDIR=" + dir, "OVN_LOGDIR=" + dir}
}

// Database returns the socket of a DPU's Open_vSwitch database.
func (f *Fabric) Database(dpu string) string { return filepath.Join(f.RunDir(dpu), "db.sock") }

// startSwitches starts Open vSwitch on all DPUs.
func (f *Fabric) startSwitches(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, dpu := range f.topology.DPUs() {
		group.Go(func() error {
			if err := f.startSwitch(ctx, dpu.Name); err != nil {
				return fmt.Errorf("start Open vSwitch on %s: %w", dpu.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (f *Fabric) startSwitch(ctx context.Context, dpu string) error {
	dir := f.RunDir(dpu)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	database := filepath.Join(dir, "conf.db")
	for _, args := range [][]string{{"create", database, vswitchSchema}, {"transact", database, emptyDatabase}} {
		if output, err := exec.CommandContext(ctx, "ovsdb-tool", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("make database: %w: %s", err, output)
		}
	}
	if _, err := f.startDaemon(ctx, dpu, "ovsdb-server", database, "--remote=punix:"+f.Database(dpu)); err != nil {
		return err
	}
	return f.startVswitchd(ctx, dpu)
}

func (f *Fabric) startVswitchd(ctx context.Context, dpu string) error {
	started, err := f.startDaemon(ctx, dpu, "ovs-vswitchd", "unix:"+f.Database(dpu), "--disable-system")
	if started != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.switches[dpu] = started
	}
	return err
}

// restartPause keeps a daemon that can't be started from being started all the time.
const restartPause = time.Second

// KeepSwitches starts each ovs-vswitchd again that ends, as systemd does on a DPU, until the fabric goes down. It reports each end, from
// any goroutine.
func (f *Fabric) KeepSwitches(tell func(error)) {
	for _, dpu := range f.topology.DPUs() {
		go f.keepSwitch(dpu.Name, tell)
	}
}

func (f *Fabric) keepSwitch(dpu string, tell func(error)) {
	for {
		running, down := f.vswitchd(dpu)
		if down {
			return
		}
		<-running.Done()
		if _, down := f.vswitchd(dpu); down {
			return
		}
		tell(&process.Restarted{End: running.ExitError()})
		for err := f.startVswitchd(context.Background(), dpu); err != nil; err = f.startVswitchd(context.Background(), dpu) {
			if _, down := f.vswitchd(dpu); down {
				return
			}
			tell(&process.Restarted{End: err}) // it ended before it was ready
			time.Sleep(restartPause)
		}
	}
}

// vswitchd of a DPU, and whether the fabric goes down.
func (f *Fabric) vswitchd(dpu string) (running *process.Process, down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.switches[dpu], f.down
}

// startDaemon returns when the daemon listens on its control socket.
func (f *Fabric) startDaemon(ctx context.Context, dpu, name string, args ...string) (*process.Process, error) {
	dir := f.RunDir(dpu)
	started, err := f.Start(dpu, process.Command{
		Name: name + " of " + dpu, Path: name, Env: f.Environment(dpu), Log: filepath.Join(dir, name+".log"),
		Args: append(args, "--pidfile", "--no-chdir", "-vsyslog:off", "-vconsole:info"),
	})
	if err != nil {
		return nil, err
	}
	control := filepath.Join(dir, fmt.Sprintf("%s.%d.ctl", name, started.PID()))
	return started, started.WaitReady(ctx, func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", control)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}
