// Package ovncontroller runs ovn-controller, which turns OVN's southbound database into flows.
//
// It is independent: it doesn't end with the agent, and the next agent finds it by its pid file. So an agent can be
// replaced without a packet being lost.
package ovncontroller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bedplate/bedplate/internal/hydrazine/unixctl"
)

const (
	name         = "ovn-controller"
	startTimeout = 10 * time.Second
	// exitTimeout is how long it may take to sign off at the southbound database. Without a database it never ends.
	exitTimeout = time.Second
	killTimeout = 5 * time.Second
	poll        = 5 * time.Millisecond
)

// Daemon is an ovn-controller with its settings. There is at most one for each run directory.
type Daemon struct {
	Path     string // of the program
	Database string // of Open vSwitch, as OVSDB writes it
	RunDir   string // of OVN
	LogDir   string
	OVSRun   string // Open vSwitch's run directory: the control sockets of the bridges
	// Unit of systemd that runs it with these very Arguments, in a cgroup of its own. Without one the agent does, in its own.
	Unit string
	// Key, Certificate and Authorities are files for TLS to the southbound database. They needn't exist yet. It loads new
	// ones when it connects again, and only once the key file is newer too.
	Key, Certificate, Authorities string
}

// Arguments that it is started with.
func (d Daemon) Arguments() []string {
	return []string{
		d.Database, "--private-key=" + d.Key, "--certificate=" + d.Certificate, "--ca-cert=" + d.Authorities,
		"--pidfile=" + filepath.Join(d.RunDir, name+".pid"), "--log-file=" + filepath.Join(d.LogDir, name+".log"),
		"--detach", "--no-chdir", "-vconsole:off",
	}
}

// PID returns its process ID, or 0 when it doesn't run.
func (d Daemon) PID() int {
	_, pid, err := unixctl.Socket(d.RunDir, name)
	if err != nil {
		return 0
	}
	// The number may be another program's by now. One that has ended has no command line.
	if filepath.Base(commandLine(pid)[0]) != filepath.Base(d.Path) {
		return 0
	}
	return pid
}

// commandLine of a process. That of a process that doesn't exist is one empty word.
func commandLine(pid int) []string {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// Start starts it if it doesn't run.
func (d Daemon) Start(ctx context.Context) error {
	if d.PID() != 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.Path, d.Arguments()...)
	if d.Unit != "" {
		cmd = exec.CommandContext(ctx, "systemctl", "start", d.Unit)
	}
	cmd.Env = append(os.Environ(), "OVN_RUNDIR="+d.RunDir, "OVS_RUNDIR="+d.OVSRun)
	cmd.WaitDelay = time.Second // the daemon keeps inherited files
	if output, err := cmd.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("start %s: %w: %s", name, err, strings.TrimSpace(string(output)))
	}
	return nil
}

// Stop ends it. One that can't sign off is killed.
func (d Daemon) Stop(ctx context.Context) error {
	pid := d.PID()
	if pid == 0 {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	if _, err := d.call(asked, "exit"); err == nil && d.ended(asked, pid) {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s: %w", name, err)
	}
	killed, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	if !d.ended(killed, pid) {
		return fmt.Errorf("%s doesn't end", name)
	}
	return nil
}

// ended waits for the end of a process, and reports whether it has ended.
func (d Daemon) ended(ctx context.Context, pid int) bool {
	for d.PID() == pid {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(poll):
		}
	}
	return true
}

// Connected reports whether it has a connection to the southbound database.
func (d Daemon) Connected(ctx context.Context) bool {
	status, err := d.call(ctx, "connection-status")
	return err == nil && strings.TrimSpace(status) == "connected"
}

func (d Daemon) call(ctx context.Context, command string, args ...string) (string, error) {
	socket, _, err := unixctl.Socket(d.RunDir, name)
	if err != nil {
		return "", err
	}
	return unixctl.Call(ctx, socket, command, args...)
}

// Running returns the version of the one that runs.
func (d Daemon) Running(ctx context.Context) (string, error) {
	said, err := d.call(ctx, "version")
	return version(said), err
}

// Installed returns the version of the program, by running it.
func (d Daemon) Installed(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, d.Path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", name, err)
	}
	return version(string(output)), nil
}

// version in the program's output.
func version(said string) string {
	line, _, _ := strings.Cut(said, "\n")
	return strings.TrimPrefix(line, name+" ")
}

// Replace restarts it when the running version isn't the installed one, or was started with other arguments. Its flows
// stay in the meantime.
func (d Daemon) Replace(ctx context.Context, installed string) error {
	pid := d.PID()
	if pid == 0 {
		return nil
	}
	running, err := d.Running(ctx)
	if err != nil {
		return err
	}
	if running == installed && slices.Equal(commandLine(pid)[1:], d.Arguments()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, err := d.call(ctx, "exit", "--restart"); err != nil {
		return err
	}
	if !d.ended(ctx, pid) {
		return fmt.Errorf("%s %s doesn't end", name, running)
	}
	return nil // started again when the integration bridge is reconciled
}
