package processtest

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime that a function needs which starts no goroutines, without the time in which it waits for a processor.
func CPUTime(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var usage unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &usage) // never fails
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	before := used()
	do()
	return used() - before
}
