package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// run is a lab as its supervisor sees it.
type run struct {
	options Options
	began   time.Time
	events  *os.File
	log     *slog.Logger
	up      atomic.Bool // Up has seen all it wanted to see
	cancel  context.CancelCauseFunc
}

// Supervise is the supervisor's whole life: it starts the lab in the folder, reports to Up, and takes everything down when ctx ends,
// when something fails, or when Up ends before its time.
func Supervise(ctx context.Context, dir string, log *slog.Logger) error {
	// The lock must not outlive this process in a child, and the children have nothing to say to Up.
	syscall.CloseOnExec(lockFD)
	syscall.CloseOnExec(eventsFD)
	control := json.NewDecoder(os.Stdin)
	r := &run{began: time.Now(), events: os.NewFile(eventsFD, "events"), log: log}
	if err := control.Decode(&r.options); err != nil {
		return fmt.Errorf("read options (this command is for \"bedplate lab up\" only): %w", err)
	}
	r.options.Dir = dir
	f := &folder{dir: dir, lock: os.NewFile(lockFD, filepath.Join(dir, lockName))}
	f.readOwner()

	ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	go r.watch(control)
	err := r.run(ctx)
	if !r.up.Load() && err != nil {
		r.emit(Event{State: Failed, Message: err.Error()})
	}
	return errors.Join(err, f.remove())
}

// watch ends the lab when Up ends without having said detached.
func (r *run) watch(control *json.Decoder) {
	var word string
	if err := control.Decode(&word); err != nil || word != detached {
		r.cancel(errors.New("\"lab up\" has ended"))
	}
}

// run returns when ctx ends or something fails, with all processes ended.
func (r *run) run(ctx context.Context) error {
	starting, done := context.WithTimeoutCause(ctx, r.options.Timeout,
		fmt.Errorf("not ready within %s", r.options.Timeout))
	defer done()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	start := localstack.Start
	other := others[r.options.Example]
	if other.plain {
		start = localstack.StartKubernetes
	}
	stack, err := start(starting, localstack.Config{
		Dir: r.options.Dir, Tools: tools.Dir(r.options.Tools), Observe: r.observe, Bedplate: self,
		Workloads: other.workloads,
	})
	if err != nil {
		return because(starting, err)
	}
	defer stack.Stop()
	go r.watchCrashes(ctx, stack)

	lab, err := r.start(starting, ctx, stack)
	if err != nil {
		return because(starting, err)
	}
	r.up.Store(true)
	r.emit(Event{State: Done, Lab: lab})
	_ = r.events.Close()
	<-ctx.Done()
	return nil
}

// because puts the reason why ctx ended before an error that only says that it did.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// watchCrashes ends a start in which a child crashes that isn't started again. Later, crashes are only recorded: the user may
// want to inspect what still runs.
func (r *run) watchCrashes(ctx context.Context, stack *localstack.Stack) {
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-stack.Crashes():
			var again *process.Restarted
			if !r.up.Load() && !errors.As(err, &again) {
				r.cancel(err)
				return
			}
			r.log.Error("a program has ended", "error", err)
			if err := noteCrash(r.options.Dir, err); err != nil {
				r.log.Error("can't note a crash", "error", err)
			}
		}
	}
}

// start ends with ctx; what continues afterwards ends with life.
func (r *run) start(ctx, life context.Context, stack *localstack.Stack) (*Lab, error) {
	if other, ok := others[r.options.Example]; ok {
		return other.start(r, ctx, life, stack)
	}
	bmm, err := stack.StartBMM(ctx)
	if err != nil {
		return nil, err
	}
	lab := r.lab(stack)
	lab.Simulator = bmm.URL
	if r.options.Example == "" {
		return lab, nil
	}
	lab.Cluster, err = r.createExample(ctx, stack, bmm.Variables())
	return lab, err
}

func (r *run) lab(stack *localstack.Stack) *Lab {
	return &Lab{Dir: r.options.Dir, PID: os.Getpid(), Kubeconfig: stack.Kubeconfig()}
}

func (r *run) observe(s localstack.Step) {
	event := Event{Step: s.Name, State: Started}
	if s.Done {
		event.State = Done
	}
	if s.Err != nil {
		event.State = Failed
	}
	r.emit(event)
}

// emit sends an event to Up. An Up that has died doesn't listen, and watch notices that.
func (r *run) emit(event Event) {
	event.Elapsed = time.Since(r.began).Seconds()
	data, err := json.Marshal(event)
	if err == nil {
		// One write per line: so lines from several goroutines don't mix.
		_, err = r.events.Write(append(data, '\n'))
	}
	if err != nil {
		r.log.Warn("can't report progress", "error", err)
	}
}
