package agent

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// stuckAfter is how long leases may go unwatched, three looks of the keeper's. WatchdogSec of the unit is the same.
const stuckAfter = 15 * time.Second

// watchdog is fed by the keeper. While it is hungry, leases don't end: the agent is stopped, throttled or waits for itself. Whoever
// watches it ends the agent then, and the next one ends them: systemd (sd_notify), or the kubelet by /livez.
type watchdog struct {
	fed atomic.Int64 // sinceBoot
}

// feeder returns what the keeper feeds it with, who needs the lock to cut a port off.
func (w *watchdog) feeder(needed sync.Locker) func() {
	say := "READY=1\nWATCHDOG=1" // leases end from now on
	return func() {
		needed.Lock()
		needed.Unlock() //nolint:staticcheck // it can be had: that is all
		w.fed.Store(int64(sinceBoot()))
		if err := notify(say); err != nil {
			slog.Error("The watchdog isn't fed", "error", err)
		}
		say = "WATCHDOG=1"
	}
}

// hungry says whether the agent is stuck.
func (w *watchdog) hungry() bool { return sinceBoot()-time.Duration(w.fed.Load()) > stuckAfter }

// notify tells systemd something, as sd_notify does, if it has started this process and wants to know.
func notify(state string) error {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil
	}
	connection, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	return nil
}
