// Package provisioner keeps one node's part of the network that ovn-kubernetes needs on DPUs: on the host the address of the physical
// function that leads to the DPU, on the DPU the tunnel endpoint, and the routes of both.
//
// It is level-based: each pass compares what the configuration wants with what the kernel and Open vSwitch have, and changes what differs.
// It takes away what it made as soon as the configuration doesn't name the node any more, and in a clean-up, but not when it ends: a Pod that
// is restarted or updated cuts no network. And it never takes away what it didn't make: routes carry its protocol number, addresses are in
// its record, and Open vSwitch's settings have a mark beside them.
package provisioner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
	"github.com/bedplate/bedplate/internal/netwatch"
	"github.com/bedplate/bedplate/internal/openvswitch"
)

const (
	// settle bounds how often the kernel is looked at while it changes all the time.
	settle     = 100 * time.Millisecond
	watchAgain = time.Second
)

// Provisioner of one node.
type Provisioner struct {
	options  Options
	side     Side
	record   *record
	database *openvswitch.Database // nil on hosts
	wake     chan struct{}

	stays  bool    // it only cleans up
	read   []byte  // the configuration that wanted or refused is of
	wanted *Wanted // by the last configuration that was good; nil if there was none
	// refused says what is wrong with the configuration since then.
	refused error

	mutex   sync.Mutex
	problem error // what keeps the node from being as the configuration wants it
}

// New returns a provisioner that Run starts.
func New(side Side, options Options) (*Provisioner, error) {
	p := &Provisioner{
		options: options, side: side, record: &record{path: filepath.Join(options.StateDir, "made.json")},
		wake: make(chan struct{}, 1), problem: errors.New("the configuration hasn't been applied yet"),
	}
	if side.bridge {
		var err error
		if p.database, err = openvswitch.New(options.OVSDatabase, p.changed); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Provisioner) changed() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run until ctx ends. What was made stays: another one takes over.
func (p *Provisioner) Run(ctx context.Context) error {
	unlock, err := lock(p.options.StateDir)
	if err != nil {
		return err
	}
	defer unlock()
	server, err := p.listen(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	return p.work(ctx)
}

// Stay takes away all that was made on this node, once its provisioner has ended, and is ready as long as nothing is left. It ends with ctx.
func (p *Provisioner) Stay(ctx context.Context) error {
	p.stays = true
	server, err := p.listen(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	for {
		unlock, err := lock(p.options.StateDir)
		if err == nil {
			defer unlock()
			return p.work(ctx)
		}
		p.tell(ctx, err)
		rest(ctx, p.options.Interval)
		if ctx.Err() != nil {
			return nil
		}
	}
}

func (p *Provisioner) work(ctx context.Context) error {
	if p.database != nil {
		defer p.database.Close()
		go p.database.Connect(ctx)
	}
	go p.watch(ctx)
	ticker := time.NewTicker(p.options.Interval)
	defer ticker.Stop()
	for {
		p.pass(ctx)
		rest(ctx, settle)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-p.wake:
		}
	}
}

func (p *Provisioner) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if err := netwatch.Watch(ctx, p.changed); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "Changes of the network are seen late", "error", err)
		}
		rest(ctx, watchAgain)
	}
}

// rest until time has passed or ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// pass brings the node to what the configuration wants.
func (p *Provisioner) pass(ctx context.Context) {
	if p.stays {
		p.tell(ctx, p.apply(ctx, Wanted{}))
		return
	}
	err := p.configure()
	if p.wanted != nil {
		err = errors.Join(err, p.apply(ctx, *p.wanted))
		if p.wanted.Link == "" {
			err = errors.Join(err, fmt.Errorf("the configuration doesn't name node %s", p.options.Node))
		}
	}
	p.tell(ctx, err)
}

// tell the readiness probe, and the log where it is something else than before.
func (p *Provisioner) tell(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	p.mutex.Lock()
	before := p.problem
	p.problem = err
	p.mutex.Unlock()
	switch {
	case err == nil && before != nil:
		slog.InfoContext(ctx, "The network is as it should be", "node", p.options.Node)
	case err != nil && (before == nil || before.Error() != err.Error()):
		slog.WarnContext(ctx, "The network isn't as it should be", "node", p.options.Node, "error", err)
	}
}

// configure reads the file again. What can't be read or is refused changes nothing: the last good configuration counts.
func (p *Provisioner) configure() error {
	file, err := os.Open(p.options.Config)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, config.MaxSize+1))
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if p.read != nil && string(data) == string(p.read) {
		return p.refused
	}
	p.read = data
	wanted, err := p.side.wanted(data, p.options.Node)
	if err != nil {
		p.refused = fmt.Errorf("the configuration in %s is refused: %w", p.options.Config, err)
		return p.refused
	}
	p.wanted, p.refused = &wanted, nil
	return nil
}

// apply what is wanted. Open vSwitch comes first: its settings don't depend on the kernel's.
func (p *Provisioner) apply(ctx context.Context, wanted Wanted) error {
	var err error
	if p.database != nil {
		err = setIDs(ctx, p.database, wanted.ExternalIDs)
	}
	return errors.Join(err, p.record.apply(wanted))
}

// CleanUp takes away all that was made on this node.
func (p *Provisioner) CleanUp(ctx context.Context) error {
	unlock, err := lock(p.options.StateDir)
	if err != nil {
		return err
	}
	defer unlock()
	if p.database != nil {
		defer p.database.Close()
		ctx, cancel := context.WithTimeout(ctx, cleanUpTimeout)
		defer cancel()
		p.database.Connect(ctx)
	}
	return p.apply(ctx, Wanted{})
}
