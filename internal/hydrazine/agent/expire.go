package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/link"
)

const (
	// expireTimeout bounds Expire: an agent that is being started waits for its end.
	expireTimeout = 20 * time.Second
	lockPoll      = 100 * time.Millisecond
)

// errLocked means that another process has the ledger.
var errLocked = errors.New("another process decides for this DPU")

// Lock makes this process the only one that controls the DPU, until unlock is called or the process ends. It waits for
// another one until ctx ends.
func Lock(ctx context.Context, options Options) (unlock func(), err error) {
	for {
		unlock, err := tryLock(options)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		rest(ctx, lockPoll)
		if ctx.Err() != nil {
			return nil, err
		}
	}
}

func tryLock(options Options) (unlock func(), err error) {
	if err := os.MkdirAll(options.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state's folder: %w", err)
	}
	folder, err := os.Open(options.StateDir) // it can be locked even if nothing can be written
	if err != nil {
		return nil, fmt.Errorf("lock the ledger: %w", err)
	}
	err = unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errLocked
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the ledger: %w", err), folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}

// Expire isolates hosts whose leases have expired, as an agent does when it starts. A running agent does that itself; but it may be stuck,
// so ports without a lease are taken down all the same.
func Expire(ctx context.Context, options Options) error {
	unlock, err := tryLock(options)
	if errors.Is(err, errLocked) {
		return cutEnded(options)
	}
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, expireTimeout)
	defer cancel()
	a, err := New(options)
	if err != nil {
		return err
	}
	defer a.database.Close()
	a.meetPorts()
	a.database.Connect(ctx)
	return errors.Join(a.keeper.Save(), a.isolate(ctx, a.keeper.Ledger()))
}

// cutEnded takes down the ports that no host has by the ledger's file, without the agent's lock. An agent that isn't stuck has done so
// before; it writes the file before it takes a port up, and restores a port that is taken down in between.
func cutEnded(options Options) error {
	file, err := ledgerFile(options)
	if err != nil {
		return err
	}
	l, err := file.Load()
	if err != nil { // the agent's ledger in memory may be valid
		return err
	}
	l.Expire(sinceBoot())
	ports, err := link.Match(options.HostPorts)
	for _, port := range ports {
		if l.Ports[port.Name].Resource == "" {
			err = errors.Join(err, link.Cut(port.Name))
		}
	}
	return err
}

// ledgerFile is where the ledger is.
func ledgerFile(options Options) (ledger.File, error) {
	boot, err := bootID()
	return ledger.File{Path: filepath.Join(options.StateDir, "ledger.json"), Boot: boot}, err
}
