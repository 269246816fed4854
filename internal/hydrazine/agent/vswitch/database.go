// Package vswitch is what the agent configures in Open vSwitch of its DPU.
package vswitch

import "github.com/bedplate/bedplate/internal/openvswitch"

// Database of Open vSwitch.
type Database struct{ *openvswitch.Database }

// New returns a database that isn't connected yet: see openvswitch.New.
func New(endpoint string, changed func()) (*Database, error) {
	d, err := openvswitch.New(endpoint, changed)
	return &Database{d}, err
}

// snapshot of the database.
type snapshot struct{ *openvswitch.Snapshot }

func (d *Database) snapshot() (*snapshot, error) {
	s, err := d.Snapshot()
	return &snapshot{s}, err
}
