package process

import (
	"os/exec"
	"runtime"
	"sync"
)

type forkRequest struct {
	cmd    *exec.Cmd
	result chan error
}

var (
	forkOnce     sync.Once
	forkRequests = make(chan forkRequest)
)

// fork starts cmd from the one OS thread that starts all children. The kernel sends the parent-death signal when the
// *thread* that forked ends, and Go ends threads as it likes; so this one is kept for the life of the program.
func fork(cmd *exec.Cmd) error {
	forkOnce.Do(func() {
		go func() {
			runtime.LockOSThread()
			for request := range forkRequests {
				request.result <- request.cmd.Start()
			}
		}()
	})
	request := forkRequest{cmd: cmd, result: make(chan error, 1)}
	forkRequests <- request
	return <-request.result
}
