package provisioner

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bedplate/bedplate/internal/openvswitch"
)

// settings of Open vSwitch that a provisioner may write: what ovn-controller and ovn-kubernetes read.
var settings = []string{"ovn-encap-ip", "host-k8s-nodename"}

// markPrefix is that of the mark beside each setting that was written here.
const markPrefix = "dpf.bedplate.dev/"

// mark says what there was before, and what was written.
type mark struct {
	Before string `json:"before,omitempty"`
	Set    string `json:"set"`
}

// setIDs writes what is wanted into external_ids of Open vSwitch, in one transaction with its marks. What isn't wanted any more becomes
// again what it was before, unless another program has changed it since.
func setIDs(ctx context.Context, database *openvswitch.Database, wanted map[string]string) error {
	found, err := database.Snapshot()
	if err != nil {
		return err
	}
	ids, set := found.Root.ExternalIDs, map[string]string{}
	for _, key := range settings {
		var m mark
		text, marked := ids[markPrefix+key]
		if err := json.Unmarshal([]byte(text), &m); marked && err != nil {
			return fmt.Errorf("read %s of Open vSwitch: %w", markPrefix+key, err)
		}
		now, value := ids[key], wanted[key]
		switch {
		case value != "" && now != value:
			if !marked {
				m.Before = now
			}
			m.Set = value
			data, err := json.Marshal(m)
			if err != nil {
				return fmt.Errorf("mark %s: %w", key, err)
			}
			set[key], set[markPrefix+key] = value, string(data)
		case value == "" && marked:
			set[markPrefix+key] = ""
			if now == m.Set {
				set[key] = m.Before
			}
		}
	}
	change := database.Change()
	change.Set(found.Root, &found.Root.ExternalIDs, set)
	if err := change.Commit(ctx); err != nil {
		return fmt.Errorf("set what ovn-kubernetes reads: %w", err)
	}
	return nil
}
