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

// stuckAfter is how long the keeper may go without checking leases: three times its interval. WatchdogSec of the unit is the same.
const stuckAfter = 15 * time.Second

// watchdog is fed by the keeper. When it expires, leases don't end: the agent is stopped, throttled or in a deadlock. systemd (sd_notify),
// or the kubelet by /livez, ends the agent then, and the next one ends the leases.
type watchdog struct {
	fed atomic.Int64 // sinceBoot
}

// feeder returns what the keeper calls after each check. It needs the lock that the keeper needs to cut a port off.
func (w *watchdog) feeder(needed sync.Locker) func() {
	say := "READY=1\nWATCHDOG=1" // leases end from now on
	return func() {
		needed.Lock()
		needed.Unlock() //nolint:staticcheck // nothing is done under it: it only has to be free
		w.fed.Store(int64(sinceBoot()))
		if err := notify(say); err != nil {
			slog.Error("systemd isn't told that leases end, and will kill the agent", "error", err)
		}
		say = "WATCHDOG=1"
	}
}

// expired reports whether the agent is stuck.
func (w *watchdog) expired() bool { return sinceBoot()-time.Duration(w.fed.Load()) > stuckAfter }

// notify sends a state to systemd, as sd_notify does, if systemd has started this process with a notify socket.
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
