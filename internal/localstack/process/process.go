// Package process runs child processes that never outlive their parent.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Command says what to run.
type Command struct {
	Name string   // for messages, such as "kube-apiserver"
	Path string   // of the executable
	Args []string // without the program's name
	Env  []string // added to the environment of this process
	Log  string   // file that gets stdout and stderr; appended to
}

// Process is a running or ended child.
type Process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // why it ended; set before done is closed
}

// Start starts a child in a process group of its own, so that a Ctrl-C at the terminal reaches only its parent.
// When this process dies, even by SIGKILL, the kernel kills the child.
func Start(c Command) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(c.Log), 0o700); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer log.Close()

	//nolint:noctx // what to run, and how long, is the caller's choice
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	if err := fork(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{name: c.Name, log: c.Log, cmd: cmd, done: make(chan struct{})}
	go p.wait()
	return p, nil
}

func (p *Process) wait() {
	p.err = p.cmd.Wait()
	// What the child has left in its group is killed with it.
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	close(p.done)
}

// Name returns the name from the Command.
func (p *Process) Name() string { return p.name }

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log returns the path of the log file.
func (p *Process) Log() string { return p.log }

// Done is closed when the process has ended and was waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitError says how the process ended, with the end of its log. It is nil while the process runs.
func (p *Process) ExitError() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return &ExitError{Name: p.name, How: how, Log: p.log, Tail: Tail(p.log, tailLines)}
}

// Stop asks the process group to end with SIGTERM, kills it after the grace period, and returns when it has ended.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
	}
}

// Kill ends the process group at once, as a crash would, and returns when the process has ended.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal signals the group, unless the process has ended: then its ID may belong to another.
func (p *Process) signal(s syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.PID(), s)
	}
}
