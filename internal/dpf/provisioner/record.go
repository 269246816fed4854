package provisioner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
)

// record of what was made on links. It is written before each change, so that a provisioner that was killed finds what its predecessor
// made. Its folder is on a file system that a reboot empties, as it empties the kernel's network.
type record struct{ path string }

// made is an address, or without one the link being up.
type made struct {
	Link    string       `json:"link"`
	Index   int          `json:"index"` // a link that was made again has another one, and nothing of ours
	Address netip.Prefix `json:"address,omitzero"`
}

func (r *record) load() ([]made, error) {
	data, err := os.ReadFile(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []made
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of what was made here: %w", err)
	}
	return all, nil
}

func (r *record) save(all []made) error {
	data, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(r.path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(r.path+".new", r.path)
	}
	if err != nil {
		return fmt.Errorf("record what is made here: %w", err)
	}
	return nil
}

// add an entry, once.
func (r *record) add(entry made) error {
	all, err := r.load()
	if err != nil || slices.Contains(all, entry) {
		return err
	}
	return r.save(append(all, entry))
}

// drop an entry.
func (r *record) drop(entry made) error {
	all, err := r.load()
	if err != nil || !slices.Contains(all, entry) {
		return err
	}
	return r.save(slices.DeleteFunc(all, func(m made) bool { return m == entry }))
}
