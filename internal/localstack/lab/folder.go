package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bedplate/bedplate/internal/localstack"
)

const (
	lockName    = "lab.lock"
	minFree     = 1 << 30 // bytes
	lockRetries = 10
	lockPoll    = 100 * time.Millisecond
)

// files are all that a lab makes in its folder.
var files = append([]string{lockName, logName, crashesName, exampleName + ".kubeconfig"}, localstack.Files()...)

// DefaultDir returns the state folder of a lab: ${XDG_STATE_HOME:-~/.local/state}/bedplate/lab, or one in the folder for
// temporary files for a user without home.
func DefaultDir() string {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "bedplate", "lab")
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "bedplate", "lab")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("bedplate-lab-%d", os.Getuid()))
}

// RunningError says that a lab runs in the folder already.
type RunningError struct {
	Dir string
	PID int // of its supervisor; 0 while it starts
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("a lab is already running in %s (pid %d): use it, end it with \"bedplate lab down\", "+
		"or choose another folder with --dir", e.Dir, e.PID)
}

// ForeignError says that a folder holds what no lab makes. That is left alone.
type ForeignError struct {
	Dir   string
	Names []string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s holds files that are not a lab's, and they stay: %s; move them, or choose another folder with --dir",
		e.Dir, strings.Join(e.Names, ", "))
}

// owner is what the lock file says about its holder.
type owner struct {
	PID            int      `json:"pid"`
	CreatedParents []string `json:"createdParents,omitempty"` // innermost first; removed again when empty
}

// folder is the state folder of a lab, held by the process that has the lock. The lock belongs to the open file: a
// child that inherits the file holds it too, and the kernel releases it when the last of them has ended.
type folder struct {
	dir   string
	lock  *os.File
	owner owner
	ours  bool // the lock says that a lab made the folder
	empty bool // the lock says nothing: its owner is just starting, or it is not a lab's
}

// createFolder creates and locks the folder, and empties it of what a killed lab left. It refuses a folder with anything
// else in it, because the lab's end removes the folder.
func createFolder(dir string) (*folder, error) {
	if err := refuseLink(dir); err != nil {
		return nil, err
	}
	parents, err := createParents(dir)
	if err != nil {
		return nil, fmt.Errorf("create the lab's folder: %w", err)
	}
	f, err := lockFolder(dir)
	if err != nil {
		removeAll(parents)
		return nil, err
	}
	if err := f.mustBeALabs(); err != nil {
		_ = f.lock.Close()
		removeAll(parents)
		return nil, err
	}
	f.owner = owner{CreatedParents: append(f.owner.CreatedParents, parents...)} // also of a lab that was killed
	err = f.clean()
	if err == nil {
		err = f.checkSpace()
	}
	if err == nil {
		err = f.writeOwner()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the lab's folder: %w", err), f.remove())
	}
	return f, nil
}

// createParents creates dir and returns which folders above it had to be created.
func createParents(dir string) ([]string, error) {
	var missing []string
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		removeAll(missing)
		return nil, err
	}
	return missing, nil
}

// lockFolder takes the lock, creating its file in an empty folder.
func lockFolder(dir string) (*folder, error) {
	path := filepath.Join(dir, lockName)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := (&folder{dir: dir}).mustBeALabs(); err != nil {
			return nil, err
		}
	}
	for range lockRetries {
		f, err := openLock(dir, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, fmt.Errorf("lock the lab's folder: %w", err)
		}
		held, err := f.tryLock()
		switch {
		case err != nil:
			_ = f.lock.Close()
			return nil, err
		case !held:
			_ = f.lock.Close()
			return nil, &RunningError{Dir: dir, PID: f.owner.PID}
		case f.current():
			return f, nil
		}
		_ = f.lock.Close() // its last owner removed the file while we opened it
	}
	return nil, fmt.Errorf("lock the lab's folder %s: another lab comes and goes there", dir)
}

// openLock opens the lock file and reads its owner.
func openLock(dir string, flags int) (*folder, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockName), flags|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EISDIR) {
		return nil, &ForeignError{Dir: dir, Names: []string{lockName}}
	}
	if err != nil {
		return nil, err
	}
	f := &folder{dir: dir, lock: file}
	f.readOwner()
	return f, nil
}

// readOwner reads what the lock says: a PID at least, and nothing that no lab writes.
func (f *folder) readOwner() {
	data, err := io.ReadAll(io.NewSectionReader(f.lock, 0, 64<<10))
	said := owner{PID: -1}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	f.empty = err == nil && len(data) == 0
	f.ours = err == nil && decoder.Decode(&said) == nil && said.PID >= 0
	if f.ours {
		f.owner = said
	}
}

func (f *folder) writeOwner() error {
	data, err := json.Marshal(f.owner)
	if err != nil {
		return err
	}
	// In this order, so that a lab that is killed here leaves a lock that is its own.
	if _, err := f.lock.WriteAt(data, 0); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	if err := f.lock.Truncate(int64(len(data))); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	f.ours, f.empty = true, false
	return nil
}

// tryLock returns false while another process holds the lock.
func (f *folder) tryLock() (bool, error) {
	err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	f.readOwner() // another may have come since the file was opened
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.lock.Name(), err)
	}
	return true, nil
}

// current reports whether the locked file is still the one in the folder.
func (f *folder) current() bool {
	ours, err := f.lock.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(f.lock.Name())
	return err == nil && os.SameFile(ours, theirs)
}

// foreign returns what is in the folder and not a lab's. Without a lock that says otherwise that is everything.
func (f *folder) foreign() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		known := f.ours && slices.Contains(files, name) || f.empty && name == lockName
		if !known {
			names = append(names, name)
		}
	}
	return names, nil
}

// mustBeALabs returns a ForeignError where something else is in the folder.
func (f *folder) mustBeALabs() error {
	names, err := f.foreign()
	if err != nil {
		return fmt.Errorf("look into the lab's folder: %w", err)
	}
	if len(names) > 0 {
		return &ForeignError{Dir: f.dir, Names: names}
	}
	return nil
}

// clean removes what a lab makes, except the lock.
func (f *folder) clean() error {
	if err := localstack.CleanUp(f.dir); err != nil || !f.ours {
		return err
	}
	for _, name := range files {
		if name == lockName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) checkSpace() error {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(f.dir, &stat); err != nil {
		return fmt.Errorf("ask for free space in %s: %w", f.dir, err)
	}
	//nolint:gosec // a block size is positive
	if free := stat.Bavail * uint64(stat.Bsize); free < minFree {
		return fmt.Errorf("only %d MiB are free in %s, and a lab needs %d MiB", free>>20, f.dir, minFree>>20)
	}
	return nil
}

// remove removes the folder, the lock last, and the parents that were created for it. Then the lock is released. Where
// there is more in the folder than a lab makes, that stays, and is the error.
func (f *folder) remove() error {
	defer f.lock.Close()
	kept := f.mustBeALabs()
	if kept != nil && !f.ours {
		return kept
	}
	if err := f.clean(); err != nil {
		return fmt.Errorf("remove the lab's folder: %w", err)
	}
	if err := os.Remove(f.lock.Name()); err != nil {
		return fmt.Errorf("remove the lab's folder: %w", err)
	}
	if kept != nil {
		return kept
	}
	if err := syscall.Rmdir(f.dir); err != nil {
		return fmt.Errorf("remove the lab's folder: %w", err)
	}
	removeAll(f.owner.CreatedParents)
	return nil
}

// refuseLink refuses a folder that is a symbolic link: its end would remove the link, and leave the folder.
func refuseLink(dir string) error {
	if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link: give the folder itself with --dir", dir)
	}
	return nil
}

// removeAll removes folders, innermost first, as far as they are empty.
func removeAll(dirs []string) {
	for _, dir := range dirs {
		if syscall.Rmdir(dir) != nil {
			return
		}
	}
}
