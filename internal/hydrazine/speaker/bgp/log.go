package bgp

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
)

// entry of GoBGP's log about a neighbor.
type entry struct {
	message, err  string
	code, subcode uint8
}

// logHandler forwards GoBGP's warnings, and what it reports of neighbors only in its log.
type logHandler struct {
	log      logr.Logger
	heard    func(netip.Addr, entry)
	neighbor netip.Addr
	pace     *pace // of the neighbor's warnings
}

// pace of warnings: GoBGP logs one for each malformed message, and a neighbor that sends them in a loop must not fill the disk.
// After the first ones there is one per second.
type pace struct {
	rate.Sometimes
	unsaid atomic.Int64 // since the last that was logged
}

func newPace() *pace { return &pace{Sometimes: rate.Sometimes{First: 10, Interval: time.Second}} }

func newLogger(log logr.Logger, heard func(netip.Addr, entry)) *slog.Logger {
	return slog.New(&logHandler{log: log, heard: heard, pace: newPace()})
}

// Enabled is true for all levels: some of what is needed is logged at the lowest.
func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

// WithGroup changes nothing: there are no groups.
func (h *logHandler) WithGroup(string) slog.Handler { return h }

// WithAttrs notes the neighbor.
func (h *logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	with := *h
	for _, a := range attributes {
		if address, err := netip.ParseAddr(a.Value.String()); a.Key == "Key" && err == nil {
			with.neighbor, with.pace = address, newPace()
		}
	}
	return &with
}

// Handle never blocks: GoBGP holds locks.
func (h *logHandler) Handle(_ context.Context, record slog.Record) error {
	e := entry{message: record.Message}
	record.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "Error", "Err", "reason":
			e.err = a.Value.String()
		case "Code":
			e.code = uint8(a.Value.Int64()) //nolint:gosec // a byte in the message
		case "Subcode":
			e.subcode = uint8(a.Value.Int64()) //nolint:gosec // a byte in the message
		}
		return true
	})
	if h.neighbor.IsValid() {
		switch record.Message {
		case "failed to connect", "outgoing connection IO error", "sent notification":
			go h.heard(h.neighbor, e)
		}
	}
	if record.Level >= slog.LevelWarn {
		h.pace.unsaid.Add(1)
		h.pace.Do(func() {
			h.log.Info(record.Message, "neighbor", h.neighbor, "error", e.err, "others", h.pace.unsaid.Swap(0)-1)
		})
	}
	return nil
}
