package agent

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bedplate/bedplate/internal/hydrazine/agent/link"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
)

// transport creates the bridge to the fabric, and gives it the addresses of the uplinks.
func (a *Agent) transport(ctx context.Context) error {
	t := vswitch.Transport{
		DatapathType: a.options.DatapathType, Uplinks: a.options.Uplinks, LACP: a.options.LACP,
		Chassis: a.options.Chassis, Hostname: a.hostname,
	}
	var there []string
	for _, name := range a.options.Uplinks {
		uplink, ok, err := link.Get(name)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := link.Connect(name); err != nil {
			return err
		}
		there = append(there, name)
		t.MAC = cmp.Or(t.MAC, uplink.MAC)
		if t.MTU == 0 || uplink.MTU < t.MTU {
			t.MTU = uplink.MTU
		}
	}
	if len(there) == 0 {
		return fmt.Errorf("none of the uplinks is there: %v", a.options.Uplinks)
	}
	if err := a.database.EnsureTransport(ctx, t); err != nil {
		return err
	}
	if err := link.Connect(vswitch.TransportBridge); err != nil {
		return err
	}
	for _, name := range there {
		if err := link.MoveAddresses(name, vswitch.TransportBridge); err != nil {
			return err
		}
		if a.options.DatapathType == userspaceDatapath {
			if err := link.Silence(name); err != nil {
				return err
			}
		}
	}
	return nil
}
