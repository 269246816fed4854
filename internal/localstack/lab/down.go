package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Down ends the lab in the folder and removes the folder. It also cleans up after a supervisor that was killed. It
// returns false if there was no lab. A ForeignError beside true names what stays in the folder of a lab that has ended.
func Down(ctx context.Context, dir string) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, fmt.Errorf("find the lab's folder: %w", err)
	}
	if err := refuseLink(dir); err != nil {
		return false, err
	}
	f, err := openLock(dir, os.O_RDWR)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open the lab's folder: %w", err)
	}
	return f.end(ctx)
}

// end is Down once the lock's file is open.
func (f *folder) end(ctx context.Context) (bool, error) {
	if err := f.takeOver(ctx); err != nil {
		_ = f.lock.Close()
		return false, err
	}
	err := f.removeIfFree()
	if err == nil {
		err = leftIn(f.dir)
	}
	var foreign *ForeignError
	return err == nil || f.ours && errors.As(err, &foreign), err
}

// leftIn returns a ForeignError with what a supervisor has left in its folder because it is not a lab's.
func leftIn(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, lockName)); err == nil {
		return nil // the next lab's
	}
	err := (&folder{dir: dir}).mustBeALabs()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// takeOver asks the owner to end, kills it when it takes too long, and returns with the lock. Only while the lock is
// held is the owner's PID its own.
func (f *folder) takeOver(ctx context.Context) error {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	killAt := time.Now().Add(teardownGrace)
	var asked bool
	for {
		held, err := f.tryLock()
		if held || err != nil {
			return err
		}
		if !f.ours && !f.empty {
			return f.mustBeALabs()
		}
		if pid := f.owner.PID; pid > 0 {
			switch {
			case time.Now().After(killAt):
				_ = syscall.Kill(pid, syscall.SIGKILL) // its children die with it
			case !asked:
				_ = syscall.Kill(pid, syscall.SIGTERM)
				asked = true
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the lab (pid %d) to end: %w", f.owner.PID, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// removeIfFree removes the folder unless another process holds it or its owner has removed it already. It closes the
// lock file.
func (f *folder) removeIfFree() error {
	held, err := f.tryLock()
	if err != nil || !held || !f.current() {
		_ = f.lock.Close()
		return err
	}
	return f.remove()
}
