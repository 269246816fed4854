package localstack

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bedplate/bedplate/internal/localstack/process"
)

const (
	stopGrace = 5 * time.Second
	// restartPause keeps a child that ends at once from being started all the time.
	restartPause = time.Second
	maxCrashes   = 32 // more than there are children
)

// child is a process with a name, which can be started again.
type child struct {
	command process.Command
	ready   func(context.Context) error
	process *process.Process
}

// children are the processes of a stack.
type children struct {
	crashes  chan error // unexpected ends; more than maxCrashes unread ones are dropped
	watchers sync.WaitGroup

	mu       sync.Mutex
	byName   map[string]*child
	kept     map[string]bool // names of those that are started again when they end
	expected map[int]bool    // PIDs that were stopped here
	stopping bool
}

func newChildren() *children {
	return &children{
		crashes: make(chan error, maxCrashes), byName: map[string]*child{}, kept: map[string]bool{}, expected: map[int]bool{},
	}
}

// keep a child of a name running, as a kubelet does: a manager ends when it couldn't renew its lease in time.
func (c *children) keep(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept[name] = true
}

// watch reports the end of a process, unless it was stopped here, and starts it again if it is kept.
func (c *children) watch(p *process.Process) {
	c.watchers.Go(func() {
		<-p.Done()
		switch kept, unexpected := c.ended(p); {
		case !unexpected:
		case kept == nil:
			c.report(p.ExitError())
		default:
			c.report(&process.Restarted{End: p.ExitError()})
			time.Sleep(restartPause)
			c.revive(kept, p)
		}
	})
}

// ended reports whether the end of a process wasn't asked for, and the child that is to be started again, if there is one.
func (c *children) ended(p *process.Process) (kept *child, unexpected bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.kept {
		if one := c.byName[name]; one != nil && one.process == p {
			kept = one
		}
	}
	return kept, !c.stopping && !c.expected[p.PID()]
}

// revive a child, unless it was stopped or started here meanwhile.
func (c *children) revive(kept *child, ended *process.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping || c.expected[ended.PID()] || c.byName[kept.command.Name] != kept {
		return
	}
	p, err := process.Start(kept.command)
	if err != nil {
		c.report(err)
		return
	}
	kept.process = p
	c.watch(p)
}

// report a crash.
func (c *children) report(crash error) {
	select {
	case c.crashes <- crash:
	default:
	}
}

// start starts a child and waits until it is ready.
func (c *children) start(ctx context.Context, command process.Command, ready func(context.Context) error) error {
	added, err := c.add(command, ready)
	if err != nil {
		return err
	}
	return added.process.WaitReady(ctx, ready)
}

func (c *children) add(command process.Command, ready func(context.Context) error) (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil, fmt.Errorf("start %s: the stack is stopping", command.Name)
	}
	p, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	added := &child{command: command, ready: ready, process: p}
	c.byName[command.Name] = added
	c.watch(p)
	return added, nil
}

func (c *children) named(name string) (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byName[name]
	if !ok {
		return nil, fmt.Errorf("the stack has no child %q", name)
	}
	c.expected[found.process.PID()] = true
	return found, nil
}

// kill returns when the child has ended.
func (c *children) kill(name string) error {
	found, err := c.named(name)
	if err != nil {
		return err
	}
	found.process.Kill()
	return nil
}

func (c *children) restart(ctx context.Context, name string) error {
	found, err := c.named(name)
	if err != nil {
		return err
	}
	found.process.Kill()
	return c.start(ctx, found.command, found.ready)
}

// stop ends all children at the same time and returns when they have ended.
func (c *children) stop() {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	var all sync.WaitGroup
	for _, each := range c.byName {
		all.Go(func() { each.process.Stop(stopGrace) })
	}
	all.Wait()
}

// wait returns when all watchers have ended: all watched processes must have been stopped.
func (c *children) wait() { c.watchers.Wait() }
