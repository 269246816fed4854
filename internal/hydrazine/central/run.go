package central

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"time"
)

// patience with a daemon on the same machine.
const patience = 5 * time.Second

// startTime is how long a daemon may take to start: its database may be large, and the computer busy.
const startTime = 30 * time.Second

func dial(ctx context.Context, socket string) (net.Conn, error) {
	return (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", socket)
}

// untilClosed returns when the daemon at the other end has ended, or ctx has.
func untilClosed(ctx context.Context, connection net.Conn) {
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	_, _ = io.Copy(io.Discard, connection)
	_ = connection.Close()
}

// run a program to its end, within a time.
func run(ctx context.Context, within time.Duration, command ...string) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second // what it starts keeps what it inherits
	said, err := cmd.CombinedOutput()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if text := strings.TrimSpace(string(said)); text != "" {
		return fmt.Errorf("%s: %w: %s", command[0], err, text)
	}
	return fmt.Errorf("%s: %w", command[0], errors.Join(err, ctx.Err()))
}
