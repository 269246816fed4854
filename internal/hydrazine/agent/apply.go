package agent

import (
	"context"
	"errors"
	"log/slog"

	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/link"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
)

// apply compares the ledger with the actual state, and does what is missing. Each error says why one half of it isn't
// certain: that no host has a network that shouldn't, and that every host that should has one.
func (a *Agent) apply(ctx context.Context) (isolation, attachment error) {
	a.applying.Lock()
	defer a.applying.Unlock()
	a.meetPorts()
	released := a.metrics.begin()
	wanted := a.keeper.Ledger()
	isolation = errors.Join(a.keeper.Save(), a.isolate(ctx, wanted))
	if isolation == nil { // otherwise it would wait once more for the same thing
		attachment = a.transport(ctx)
	}
	if isolation == nil && attachment == nil {
		attachment = a.attach(ctx, wanted)
	}
	a.metrics.applied(released, isolation, attachment)
	a.mutex.Lock()
	before := errors.Join(a.status.isolation, a.status.attachment)
	a.status.isolation, a.status.attachment = isolation, attachment
	a.mutex.Unlock()
	if now := errors.Join(isolation, attachment); text(now) != text(before) {
		if now != nil {
			slog.WarnContext(ctx, "The DPU isn't as it should be; trying again", "error", now)
		}
		a.news.announce()
	}
	return isolation, attachment
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// meetPorts adds new ports of hosts, and keeps unassigned ones down.
func (a *Agent) meetPorts() {
	ports, err := link.Match(a.options.HostPorts)
	if err != nil {
		slog.Error("The ports of the hosts are unknown", "error", err)
		return
	}
	for _, port := range ports {
		a.keeper.Meet(port.Name)
		if err := errors.Join(link.Silence(port.Name), link.Unaddressed(port.Name)); err != nil {
			slog.Error("The DPU itself can be reached from a host", "port", port.Name, "error", err)
		}
	}
	for name, port := range a.keeper.Ledger().Ports {
		if port.Resource == "" {
			a.cut(name)
		}
	}
}

// attach puts the assigned ports on the integration bridge, and makes them known to OVN.
func (a *Agent) attach(ctx context.Context, wanted *ledger.Ledger) error {
	ports := logicalPorts(wanted)
	if len(ports) == 0 {
		return nil
	}
	if err := a.identity.write(wanted.Network); err != nil {
		return err
	}
	starting := a.daemon.PID() == 0
	r := wanted.Network.Relay
	err := a.database.EnsureIntegration(ctx, vswitch.Integration{
		DatapathType: a.options.DatapathType, Group: wanted.Network.Group, Southbound: wanted.Network.Southbound,
		EncapIP: wanted.Network.EncapIP, Ports: ports, Restart: starting,
		Relay: vswitch.RelayPort{Name: r.Interface, LogicalPort: r.LogicalPort, MAC: r.MAC},
	})
	if err != nil {
		return err
	}
	if err := a.daemon.Start(ctx); err != nil {
		return err
	}
	if starting {
		a.metrics.starts.Inc()
	}
	for name := range ports {
		// A host that has lost the port in the meantime stays cut off.
		connect := func() error { return link.Connect(name) }
		if err := a.keeper.Holding(name, wanted.Ports[name].Resource, connect); err != nil {
			return err
		}
	}
	return nil
}
