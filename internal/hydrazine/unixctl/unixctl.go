// Package unixctl calls the control sockets of OVN's and Open vSwitch's daemons, as ovs-appctl does.
package unixctl

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// patience with a daemon on the same machine.
	patience = 5 * time.Second
	// answerLimit is more than any answer that is asked for here.
	answerLimit = 1 << 20
)

// Call asks the daemon behind a socket to do something at once, and returns its answer.
func Call(ctx context.Context, socket, command string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return Await(ctx, socket, command, args...)
}

// Await is Call for what takes the daemon its time, bounded by ctx alone: one request of JSON-RPC 1.0.
func Await(ctx context.Context, socket, command string, args ...string) (string, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", fmt.Errorf("call %s: %w", command, err)
	}
	defer connection.Close()
	stop := context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	request := struct {
		Method string   `json:"method"`
		Params []string `json:"params"`
		ID     int      `json:"id"`
	}{Method: command, Params: append([]string{}, args...)}
	var answer struct {
		Result string `json:"result"`
		Error  string `json:"error"`
	}
	if err := json.NewEncoder(connection).Encode(request); err != nil {
		return "", fmt.Errorf("call %s: %w", command, err)
	}
	if err := json.NewDecoder(io.LimitReader(connection, answerLimit)).Decode(&answer); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", fmt.Errorf("call %s: %w", command, err)
	}
	if answer.Error != "" {
		return "", fmt.Errorf("call %s: %s", command, strings.TrimSpace(answer.Error))
	}
	return answer.Result, nil
}

// Socket returns the default control socket of a daemon, and its process ID. The daemon is found by its pid file in its
// run directory, so it need not live any more.
func Socket(runDir, daemon string) (string, int, error) {
	data, err := os.ReadFile(filepath.Join(runDir, daemon+".pid"))
	if err != nil {
		return "", 0, fmt.Errorf("find %s: %w", daemon, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 0 {
		return "", 0, fmt.Errorf("find %s: its pid file has no process ID", daemon)
	}
	return filepath.Join(runDir, fmt.Sprintf("%s.%d.ctl", daemon, pid)), pid, nil
}
