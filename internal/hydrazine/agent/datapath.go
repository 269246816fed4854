package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
	"github.com/bedplate/bedplate/internal/hydrazine/unixctl"
)

// revalidateTimeout is far longer than ovs-vswitchd takes. A call that it hasn't answered stays open there, even if the agent gives up: while
// its revalidators are paused, there must be few.
const revalidateTimeout = 10 * time.Minute

// watchDatapath finds out which change of OVN the datapath has. Nothing else waits for that.
func (a *Agent) watchDatapath(ctx context.Context) {
	before := ""
	a.news.follow(ctx, func() (failed bool) {
		now := text(a.followDatapath(ctx))
		if now != "" && now != before {
			slog.WarnContext(ctx, "It isn't known whether packets are forwarded by OVN's last change; trying again", "error", now)
		}
		before = now
		return now != ""
	})
}

// followDatapath waits until the datapath has the last change whose flows ovn-controller has written.
func (a *Agent) followDatapath(ctx context.Context) error {
	state, err := a.database.State()
	if err != nil {
		return err
	}
	if written := state.Written; written != (vswitch.Change{}) && written != a.snapshot().datapath {
		if err := a.revalidated(ctx); err != nil {
			return err
		}
		a.mutex.Lock()
		a.status.datapath = written
		a.mutex.Unlock()
		a.news.announce()
	}
	return nil
}

// revalidated waits until ovs-vswitchd forwards nothing any more by flows that were replaced before.
//
// Its main loop tells the revalidators of changed flows, and then takes calls: so the changes of before a call that was answered are known to
// them when the next call is taken. revalidator/wait returns at the end of a pass; that may have begun earlier, but the next one hasn't.
func (a *Agent) revalidated(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, revalidateTimeout)
	defer cancel()
	for _, command := range []string{"version", "revalidator/wait", "revalidator/wait"} {
		socket, err := a.vswitchdSocket()
		if err != nil {
			return err
		}
		if _, err := unixctl.Await(ctx, socket, command); err != nil {
			return err
		}
	}
	return nil
}
