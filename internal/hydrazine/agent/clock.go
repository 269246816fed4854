package agent

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// sinceBoot is the time since the DPU was started, sleep included. It can't be set.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(fmt.Sprintf("this kernel has no boot time: %v", err))
	}
	return time.Duration(t.Nano())
}

// timestamp is a time since the DPU was started, opaque to the controller, which only returns it.
func timestamp(t time.Duration) *timestamppb.Timestamp {
	return timestamppb.New(time.Unix(0, int64(t)))
}

// sinceBootAt is the time since the DPU was started in a timestamp.
func sinceBootAt(t *timestamppb.Timestamp) time.Duration { return t.AsTime().Sub(time.Unix(0, 0)) }

// bootID identifies the boot of the DPU.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot ID: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}
