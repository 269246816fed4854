package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// format is the version of the file. Other versions can't be read.
const format = 1

// File keeps a ledger over restarts of the agent.
type File struct {
	Path string
	// Boot identifies the boot of the DPU. Leases from before that are void: it isn't known how long it was off.
	Boot string
}

type content struct {
	Format int    `json:"format"`
	Boot   string `json:"boot"`
	Ledger
}

// Load reads the ledger. Without a file it is empty. If the file can't be used, that is an error, and the ledger is empty
// too: what isn't known to be assigned is isolated.
func (f File) Load() (*Ledger, error) {
	empty := &Ledger{Ports: map[string]Port{}}
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("read the ledger: %w", err)
	}
	var c content
	if err := json.Unmarshal(data, &c); err != nil {
		return empty, fmt.Errorf("read the ledger: %w", err)
	}
	if c.Format != format {
		return empty, fmt.Errorf("read the ledger: its format is %d instead of %d", c.Format, format)
	}
	if c.Boot != f.Boot {
		return empty, nil
	}
	if c.Ports == nil {
		c.Ports = map[string]Port{}
	}
	return &c.Ledger, nil
}

// Save replaces the file. When it returns without an error, the ledger survives a crash of the DPU.
func (f File) Save(l *Ledger) error {
	data, err := json.MarshalIndent(content{Format: format, Boot: f.Boot, Ledger: *l}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	if err := Replace(f.Path, append(data, '\n')); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

// Replace writes a file beside the old one and puts it in its place. Only its owner can read it.
func Replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
