package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/unixctl"
)

// isolate removes all unassigned ports from the integration bridge. With the last port, and if the bridge is still
// another group's, all traces of the network are removed.
func (a *Agent) isolate(ctx context.Context, wanted *ledger.Ledger) error {
	hosts, isolated := logicalPorts(wanted), []string{}
	keep := withRelay(hosts, wanted.Network.Relay)
	for name, port := range wanted.Ports {
		if port.Resource == "" {
			isolated = append(isolated, name)
		}
	}
	other, unknown := a.database.Other(wanted.Network.Group)
	empty := len(hosts) == 0
	err := errors.Join(unknown, a.uncut(wanted), a.noteZones(keep, empty || other), a.database.Release(ctx, keep, isolated))
	if empty || other {
		err = errors.Join(err, a.daemon.Stop(ctx))
	}
	if err == nil && (empty || other) {
		err = a.deleteIntegration(ctx, empty)
	}
	if err == nil {
		err = a.forget(ctx, empty)
	}
	if err != nil {
		return err
	}
	clear(a.stale)
	a.swept = a.swept || a.ownsAll(empty)
	return nil
}

// deleteIntegration forgets the connections before, too: after a kill the next agent wouldn't find their zones.
func (a *Agent) deleteIntegration(ctx context.Context, empty bool) error {
	if err := a.forget(ctx, empty); err != nil {
		return err
	}
	return a.database.DeleteIntegration(ctx)
}

// logicalPorts returns the logical port of each assigned port.
func logicalPorts(l *ledger.Ledger) map[string]string {
	ports := map[string]string{}
	for _, name := range l.Assigned() {
		ports[name] = l.Ports[name].LogicalPort
	}
	return ports
}

// uncut returns which ports could not be taken down. For one that is assigned by now it doesn't matter any more.
func (a *Agent) uncut(wanted *ledger.Ledger) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	maps.DeleteFunc(a.status.uncut, func(port string, _ error) bool { return wanted.Ports[port].Resource != "" })
	return errors.Join(slices.Collect(maps.Values(a.status.uncut))...)
}

// noteZones remembers which tracked connections will have to be forgotten: afterwards that can't be found out.
func (a *Agent) noteZones(keep map[string]string, all bool) error {
	zones, err := a.database.Zones()
	if err != nil {
		return err
	}
	if all {
		maps.Copy(a.stale, zones)
		return nil
	}
	state, err := a.database.State()
	if err != nil {
		return err
	}
	for name, port := range state.Ports {
		if zone, tracked := zones[port.LogicalPort]; tracked && keep[name] != port.LogicalPort {
			a.stale[port.LogicalPort] = zone
		}
	}
	return nil
}

// ownsAll reports whether all tracked connections belong to a network that no host has. In the kernel other programs have
// some too.
func (a *Agent) ownsAll(empty bool) bool {
	return empty && a.options.DatapathType == userspaceDatapath
}

// forget flushes tracked connections: all, or those of the zones that were noted.
func (a *Agent) forget(ctx context.Context, empty bool) error {
	all := a.ownsAll(empty)
	if len(a.stale) == 0 && (a.swept || !all) {
		return nil
	}
	var err error
	if all {
		err = a.flush(ctx)
	} else {
		for _, zone := range a.stale {
			err = errors.Join(err, a.flush(ctx, "zone="+zone))
		}
	}
	if err != nil {
		return fmt.Errorf("forget connections: %w", err)
	}
	return nil
}

// flush flushes connections. The datapath is only named if there are several: Open vSwitch 3.1 refuses its name here.
func (a *Agent) flush(ctx context.Context, arguments ...string) error {
	list, err := a.callVswitchd(ctx, "dpctl/dump-dps")
	if err != nil {
		return err
	}
	own := "system@ovs-system"
	if a.options.DatapathType == userspaceDatapath {
		own = "netdev@ovs-netdev"
	}
	datapaths := strings.Fields(list)
	if !slices.Contains(datapaths, own) {
		return nil // nothing was ever tracked
	}
	if len(datapaths) > 1 {
		arguments = append([]string{own}, arguments...)
	}
	_, err = a.callVswitchd(ctx, "dpctl/flush-conntrack", arguments...)
	return err
}

func (a *Agent) callVswitchd(ctx context.Context, command string, args ...string) (string, error) {
	socket, err := a.vswitchdSocket()
	if err != nil {
		return "", err
	}
	return unixctl.Call(ctx, socket, command, args...)
}

func (a *Agent) vswitchdSocket() (string, error) {
	if a.options.VswitchdCtl != "" {
		return a.options.VswitchdCtl, nil
	}
	socket, _, err := unixctl.Socket(a.options.OVSRunDir, "ovs-vswitchd")
	return socket, err
}
