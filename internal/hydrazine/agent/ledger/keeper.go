package ledger

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Keeper holds the agent's ledger, keeps its file up to date, and ends expired leases.
type Keeper struct {
	write    func(*Ledger) error
	clock    func() time.Duration // since the DPU was started
	isolated func(port string)
	changed  func()

	writing sync.Mutex // of the file; never taken with the other one held: the disk may hang, and leases end
	mutex   sync.Mutex
	ledger  *Ledger       // replaced, never modified
	unsaved bool          // the file differs from the ledger
	kick    chan struct{} // the next lease to end may have changed
}

// NewKeeper loads the ledger of a file, without expired leases. The error says why the file couldn't be used: then no port
// is assigned. From now on isolated is called for each port that is new or not assigned any more, before anything else
// happens to the ledger, and changed after each change. Both must return soon.
func NewKeeper(file File, clock func() time.Duration, isolated func(port string), changed func()) (*Keeper, error) {
	l, err := file.Load()
	k := &Keeper{
		write: file.Save, clock: clock, isolated: isolated, changed: changed, ledger: l, unsaved: err != nil,
		kick: make(chan struct{}, 1),
	}
	k.Expire()
	return k, err
}

// Ledger returns a copy.
func (k *Keeper) Ledger() *Ledger {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.ledger.Clone()
}

// Meet adds new ports. They can't have had a generation before.
func (k *Keeper) Meet(ports ...string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, port := range ports {
		if _, known := k.ledger.Ports[port]; !known {
			k.ledger = k.ledger.Clone()
			k.ledger.Meet(port, uint64(time.Now().UnixMicro()))
			k.isolated(port)
		}
	}
}

// Attach assigns a port or renews its lease, which begins at a time by the keeper's clock. An error means that the port
// wasn't assigned by it.
func (k *Keeper) Attach(port string, generation uint64, to Assignment, from, lease time.Duration) error {
	k.writing.Lock()
	defer k.writing.Unlock()
	for {
		k.Expire()
		before, now := k.now(), k.clock()
		if from > now || from+lease <= now {
			return fmt.Errorf("a lease of %s that began %s ago: %w", lease, now-from, ErrTime)
		}
		next := before.Clone()
		if err := next.Attach(port, generation, to, from+lease, time.Now().Add(from+lease-now)); err != nil {
			return err
		}
		if done, err := k.save(before, next); done || err != nil {
			return err
		}
	}
}

// Isolate removes a resource's assignment. It does so even if the file can't be written, and returns why.
func (k *Keeper) Isolate(resource string) error {
	k.release(func(l *Ledger) bool { return l.Isolate(resource) })
	return k.Save()
}

// Expire removes expired leases. It doesn't wait for the disk: without Save the next agent does it again.
func (k *Keeper) Expire() {
	k.release(func(l *Ledger) bool { return l.Expire(k.clock()) })
}

// Save writes the file if it differs from the ledger.
func (k *Keeper) Save() error {
	k.writing.Lock()
	defer k.writing.Unlock()
	for {
		k.mutex.Lock()
		now, unsaved := k.ledger, k.unsaved
		k.mutex.Unlock()
		if !unsaved {
			return nil
		}
		if done, err := k.save(now, now); done || err != nil {
			return err
		}
	}
}

func (k *Keeper) now() *Ledger {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.ledger
}

// save writes a ledger and replaces the previous one, unless that has changed in the meantime. A failed write may still
// have happened.
func (k *Keeper) save(before, next *Ledger) (done bool, err error) {
	err = k.write(next)
	k.mutex.Lock()
	defer k.mutex.Unlock()
	done = err == nil && k.ledger == before
	k.unsaved = !done
	if done {
		k.ledger = next
		select {
		case k.kick <- struct{}{}:
		default:
		}
	}
	if next != before {
		k.changed()
	}
	return done, err
}

// release removes assignments. A new generation alone isn't reported: callers read it when they retry.
func (k *Keeper) release(from func(*Ledger) bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	next := k.ledger.Clone()
	if !from(next) {
		return
	}
	cut := false
	for _, port := range k.ledger.Assigned() {
		if next.Ports[port].Resource == "" {
			k.isolated(port)
			cut = true
		}
	}
	k.ledger, k.unsaved = next, true
	if cut {
		k.changed()
	}
}

// Holding does something while a port is assigned to a resource. If it isn't any more, nothing is done.
func (k *Keeper) Holding(port, resource string, do func() error) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if p := k.ledger.Ports[port]; p.Resource != resource || p.Expires <= k.clock() {
		return nil
	}
	return do()
}

// How long Run sleeps. Timers stop while the machine sleeps, leases don't.
const shortest, longest = time.Millisecond, 5 * time.Second

// Run ends expired leases, until ctx ends. It calls looked after each check of them, at least every 5 s: without such a call for
// longer, leases don't end any more.
func (k *Keeper) Run(ctx context.Context, looked func()) {
	for {
		k.Expire()
		looked()
		wait := longest
		if next, ok := k.Ledger().Next(); ok {
			wait = min(wait, next-k.clock())
		}
		select {
		case <-ctx.Done():
			return
		case <-k.kick:
		case <-time.After(max(wait, shortest)):
		}
	}
}
