package agent

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"
)

const (
	daemonPoll = time.Second
	// startPoll is how often ovn-controller is polled while it connects, or while much changes.
	startPoll = 50 * time.Millisecond
)

// daemons is the polled state of the programs that the agent needs.
type daemons struct {
	database           bool // there is a connection to Open vSwitch's
	running, connected bool // ovn-controller
	forwarding         bool // ovs-vswitchd runs
	vswitchd           vswitchd
}

// vswitchd is one run of ovs-vswitchd, identified by its control socket: each run makes another one.
type vswitchd struct {
	socket string
	made   time.Time
}

// lookAtVswitchd returns the current or last run of it, and whether that is running.
func (a *Agent) lookAtVswitchd(ctx context.Context) (run vswitchd, running bool) {
	socket, err := a.vswitchdSocket()
	if err != nil {
		return vswitchd{}, false
	}
	info, err := os.Stat(socket)
	if err != nil {
		return vswitchd{}, false
	}
	connection, err := (&net.Dialer{Timeout: daemonPoll}).DialContext(ctx, "unix", socket)
	if err == nil {
		_ = connection.Close()
	}
	return vswitchd{socket, info.ModTime()}, err == nil
}

// noteVswitchd counts a run that isn't the first one.
func (a *Agent) noteVswitchd(run vswitchd) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	s := &a.status
	if run == (vswitchd{}) || run == s.vswitchd {
		return
	}
	if s.vswitchd != (vswitchd{}) {
		s.restarts++
		a.metrics.restarts.Inc()
		slog.Error("ovs-vswitchd was started again: see its log for why", "restarts", s.restarts)
	}
	s.vswitchd, s.started = run, sinceBoot()-time.Since(run.made)
}

// watchDaemons polls the database, ovn-controller and ovs-vswitchd.
func (a *Agent) watchDaemons(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		news := a.news.wait()
		now := daemons{database: a.database.Connected(), running: a.daemon.PID() != 0}
		now.connected = now.running && a.daemon.Connected(ctx)
		now.vswitchd, now.forwarding = a.lookAtVswitchd(ctx)
		a.noteVswitchd(now.vswitchd)
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

// readVersions reads the versions of the running programs.
func (a *Agent) readVersions(ctx context.Context) {
	controller, controllerErr := a.daemon.Running(ctx)
	vswitchd, vswitchdErr := a.callVswitchd(ctx, "version")
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if controllerErr == nil {
		a.status.versions["ovn-controller"] = controller
	}
	if words := strings.Fields(vswitchd); vswitchdErr == nil && len(words) > 0 {
		a.status.versions["ovs-vswitchd"] = words[len(words)-1]
	}
}

// replaceOld restarts an ovn-controller that isn't the installed one, or that an older agent has started with other
// arguments. That loses no packet.
func (a *Agent) replaceOld(ctx context.Context) {
	installed, err := a.daemon.Installed(ctx)
	if err == nil {
		if a.daemon.PID() == 0 { // it is the version that will run
			a.mutex.Lock()
			a.status.versions["ovn-controller"] = installed
			a.mutex.Unlock()
		}
		err = a.daemon.Replace(ctx, installed)
	}
	if err != nil {
		slog.ErrorContext(ctx, "The ovn-controller that runs may be an old one", "error", err)
	}
}
