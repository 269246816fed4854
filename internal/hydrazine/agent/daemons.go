package agent

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

const (
	daemonPoll = time.Second
	// startPoll is how often ovn-controller is looked at while it connects, or while much is going on.
	startPoll = 50 * time.Millisecond
)

// daemons is what is seen of the programs that the agent needs, by looking again and again.
type daemons struct {
	database           bool // there is a connection to Open vSwitch's
	running, connected bool // ovn-controller
}

// watchDaemons looks at the database and at ovn-controller.
func (a *Agent) watchDaemons(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		news := a.news.wait()
		now := daemons{database: a.database.Connected(), running: a.daemon.PID() != 0}
		now.connected = now.running && a.daemon.Connected(ctx)
		a.mutex.Lock()
		different := a.status.daemons != now
		a.status.daemons = now
		a.mutex.Unlock()
		if different || first {
			a.readVersions(ctx)
			a.changed()
		}
		rest(ctx, startPoll)
		if now.running && !now.connected {
			continue
		}
		select {
		case <-ctx.Done():
		case <-news: // ovn-controller may have been started
		case <-time.After(daemonPoll):
		}
	}
}

// readVersions asks the programs for their versions. One that doesn't answer has none.
func (a *Agent) readVersions(ctx context.Context) {
	versions := map[string]string{}
	if installed, err := a.daemon.Version(ctx); err == nil {
		versions["ovn-controller"] = installed
	}
	if said, err := a.callVswitchd(ctx, "version"); err == nil {
		words := strings.Fields(said)
		versions["ovs-vswitchd"] = words[len(words)-1]
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.status.versions = versions
}

// replaceOld restarts an ovn-controller that isn't the installed one, or that an older agent has started in another way. That
// loses no packet.
func (a *Agent) replaceOld(ctx context.Context) {
	installed, err := a.daemon.Version(ctx)
	if err == nil {
		err = a.daemon.Replace(ctx, installed)
	}
	if err != nil {
		slog.ErrorContext(ctx, "The ovn-controller that runs may be an old one", "error", err)
	}
}
