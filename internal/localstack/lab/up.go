// Package lab runs a management cluster with simulated clouds for a user at a terminal. "lab up" starts a supervisor, a
// process of its own session that owns everything else; it lives until "lab down".
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

const (
	// teardownGrace is for the supervisor to stop all children.
	teardownGrace = 45 * time.Second

	logName  = "lab.log" // of the supervisor
	logLines = 15

	// SuperviseArg is the command below "lab" that calls Supervise with its only argument.
	SuperviseArg = "supervise"
)

// What the supervisor inherits. Its stdin brings the Options, and then, when Up needn't watch over it any more, the word
// detached. If stdin ends before that, Up has died and the supervisor takes everything down.
const (
	lockFD   = 3
	eventsFD = 4
	detached = "detached"
)

// Options of Up.
type Options struct {
	Dir     string        `json:"-"`
	Tools   string        `json:"tools"`   // folder
	Example string        `json:"example"` // "": nothing is created
	Timeout time.Duration `json:"timeout"`

	ControlPlanes int `json:"controlPlanes"` // machines of the example's cluster; an odd number, for etcd's quorum
	Workers       int `json:"workers"`       // machines of the example
}

// Tools are the names of those that an example needs.
func Tools(example string) []string {
	if other, ok := others[example]; ok {
		return other.tools()
	}
	return localstack.BMMTools()
}

// Up starts a lab, shows its progress, and returns when the example's nodes are ready. When it fails or ctx ends before
// that, no process and no file is left.
func Up(ctx context.Context, o Options, show func(Event)) (*Lab, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the lab's folder: %w", err)
	}
	o.Dir = dir
	f, err := createFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := startSupervisor(f, o)
	if err != nil {
		return nil, errors.Join(err, f.remove())
	}
	// From here on the folder and its lock belong to the supervisor.
	_ = f.lock.Close()
	defer s.close()

	stop := context.AfterFunc(ctx, func() { _ = s.control.Close() })
	defer stop()
	lab, err := s.follow(o.Dir, show)
	if err == nil && ctx.Err() == nil {
		if err = json.NewEncoder(s.control).Encode(detached); err == nil {
			return lab, nil
		}
	}
	s.end(o.Dir)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted, everything was taken down: %w", context.Cause(ctx))
	}
	return nil, err
}

// supervisor is the supervisor process as seen by Up.
type supervisor struct {
	cmd     *exec.Cmd
	control io.WriteCloser
	events  io.ReadCloser
}

func startSupervisor(f *folder, o Options) (*supervisor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the lab's supervisor: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(f.dir, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the lab's supervisor: %w", err)
	}
	defer log.Close()
	events, eventsOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the lab's supervisor: %w", err)
	}
	defer eventsOut.Close()

	//nolint:noctx // this program itself, which continues without us
	cmd := exec.Command(self, "lab", SuperviseArg, o.Dir)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lockFD - 3: f.lock, eventsFD - 3: eventsOut}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	control, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = events.Close()
		return nil, fmt.Errorf("start the lab's supervisor: %w", err)
	}
	s := &supervisor{cmd: cmd, control: control, events: events}
	f.owner.PID = cmd.Process.Pid
	if err := errors.Join(f.writeOwner(), json.NewEncoder(control).Encode(o)); err != nil {
		s.close()
		s.end(f.dir)
		return nil, fmt.Errorf("start the lab's supervisor: %w", err)
	}
	return s, nil
}

// follow shows events until the lab is up or has failed.
func (s *supervisor) follow(dir string, show func(Event)) (*Lab, error) {
	decoder := json.NewDecoder(s.events)
	for {
		var event Event
		if err := decoder.Decode(&event); err != nil {
			return nil, fmt.Errorf("the lab's supervisor ended unexpectedly (%w); the end of its log:\n%s",
				err, process.Tail(filepath.Join(dir, logName), logLines))
		}
		switch {
		case event.Lab != nil:
			show(event)
			return event.Lab, nil
		case event.Step == "" && event.State == Failed:
			return nil, errors.New(event.Message)
		default:
			show(event)
		}
	}
}

// end waits until the supervisor has torn everything down, and makes sure that it did.
func (s *supervisor) end(dir string) {
	_ = s.control.Close()
	killer := time.AfterFunc(teardownGrace, func() { _ = s.cmd.Process.Kill() })
	defer killer.Stop()
	_ = s.cmd.Wait() // how it ended makes no difference now
	if f, err := openLock(dir, os.O_RDWR); err == nil {
		_ = f.removeIfFree() // the supervisor's job: this is for one that was killed
	}
}

func (s *supervisor) close() {
	_ = s.control.Close()
	_ = s.events.Close()
}
