// Package namespace makes network namespaces with names, as "ip netns" does, and runs code in them.
package namespace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// dir is where "ip netns" and the netns library keep the names.
const dir = "/run/netns"

// Path returns the file that stands for a namespace.
func Path(name string) string { return filepath.Join(dir, name) }

// Create makes a namespace. Its only interface is a loopback that is down.
func Create(name string) error {
	err := shareDir()
	if err == nil {
		err = visit(func() error {
			handle, err := netns.NewNamed(name)
			if err != nil {
				return err
			}
			return handle.Close()
		})
	}
	if err != nil {
		return fmt.Errorf("create network namespace %s: %w", name, err)
	}
	return nil
}

// shareDir makes dir a shared mount, as the first "ip netns add" of a computer does. If that came later, it would hide the
// existing names, and they couldn't be removed.
func shareDir() error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // everybody may see the names
		return err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil { // "ip netns" does the same
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	err = unix.Mount("", dir, "none", unix.MS_SHARED|unix.MS_REC, "")
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	// It is no mount yet.
	if err := unix.Mount(dir, dir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	return unix.Mount("", dir, "none", unix.MS_SHARED|unix.MS_REC, "")
}

// Do runs f in a namespace and returns its error; the name "" is the namespace of this process. Sockets that f makes stay in
// the namespace for good, and keep it alive until they are closed. f must not count on goroutines that it starts: they run
// elsewhere.
func Do(name string, f func() error) error {
	if name == "" {
		return f()
	}
	return visit(func() error {
		handle, err := netns.GetFromName(name)
		if err != nil {
			return fmt.Errorf("open network namespace %s: %w", name, err)
		}
		defer handle.Close()
		if err := netns.Set(handle); err != nil {
			return fmt.Errorf("enter network namespace %s: %w", name, err)
		}
		return f()
	})
}

// visit runs f on a thread that nothing else runs on meanwhile, and takes the thread back to where it came from, also when f
// panics or ends its goroutine, as a failing test does.
func visit(f func() error) error {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() {
		if err := errors.Join(netns.Set(home), home.Close()); err != nil {
			panic(fmt.Sprintf("this thread is lost in a network namespace: %v", err))
		}
		runtime.UnlockOSThread()
	}()
	return f()
}

// List returns the names of all namespaces that begin with the prefix.
func List(prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list network namespaces: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// Remove kills all processes of the namespaces but this one, and removes the namespaces with all that is in them. Those that
// don't exist, or only half, are no error.
func Remove(names ...string) error {
	if err := killProcesses(names); err != nil {
		return fmt.Errorf("remove network namespaces: %w", err)
	}
	var failures []error
	for _, name := range names {
		// Not a mount point: its creator died in between.
		if err := unix.Unmount(Path(name), unix.MNT_DETACH); err != nil &&
			!errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			failures = append(failures, fmt.Errorf("remove network namespace %s: %w", name, err))
			continue
		}
		if err := os.Remove(Path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			failures = append(failures, fmt.Errorf("remove network namespace %s: %w", name, err))
		}
	}
	return errors.Join(failures...)
}
