package central

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bedplate/bedplate/internal/hydrazine/unixctl"
)

// daemon is one process of a central.
type daemon struct {
	name     string
	control  string // its control socket
	pidFile  string
	database string   // empty: it has none
	schema   string   // of the database
	command  []string // starts it in the background, and returns when it answers
}

func daemons(dir, schemas string) []daemon {
	file := func(name string) string { return filepath.Join(dir, name) }
	server := func(kind string, more ...string) daemon {
		d := daemon{
			name: "ovsdb-server " + kind, control: file(kind + ".ctl"), pidFile: file(kind + ".pid"), database: database(dir, kind),
			schema: filepath.Join(schemas, "ovn-"+kind+".ovsschema"),
		}
		more = append([]string{d.database, "--remote=punix:" + file(kind+".sock")}, more...)
		d.command = d.background("ovsdb-server", file(kind+".log"), more...)
		return d
	}
	south := server("sb", "--remote=db:OVN_Southbound,SB_Global,connections", "--private-key="+file(serverKey),
		"--certificate="+file(serverCertificate), "--ca-cert="+file(authorityCertificate))
	northd := daemon{name: "ovn-northd", control: file("northd.ctl"), pidFile: file("northd.pid")}
	northd.command = northd.background("ovn-northd", file("northd.log"),
		"--ovnnb-db=unix:"+file("nb.sock"), "--ovnsb-db=unix:"+file("sb.sock"))
	// The southbound one comes first: it has to be closed before a new northbound one is made.
	return []daemon{south, server("nb"), northd}
}

func database(dir, kind string) string { return filepath.Join(dir, kind+".db") }

func (d daemon) background(program, log string, args ...string) []string {
	return append([]string{program}, append(args, "--unixctl="+d.control, "--pidfile="+d.pidFile, "--log-file="+log,
		"--detach", "--no-chdir", "-vconsole:off")...)
}

// ensure starts the daemon if it doesn't run, or was started differently by an older version of this program. A damaged database
// is moved aside and replaced. Before a new one is made, shut is called.
func (d daemon) ensure(ctx context.Context, shut func() error) error {
	_, err := unixctl.Call(ctx, d.control, "version")
	if err == nil && !d.outdated() {
		return d.closeOthers(ctx)
	}
	if err == nil {
		err = d.end(ctx)
	}
	if err != nil && !ended(err) {
		return err
	}
	if d.database == "" {
		return run(ctx, startTime, d.command...)
	}
	_, err = os.Stat(d.database)
	if err == nil && d.pid() == 0 && damaged(ctx, d.database) {
		if err := os.Rename(d.database, d.database+".damaged"); err != nil {
			return fmt.Errorf("put a damaged database aside: %w", err)
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err := shut(); err != nil {
			return err
		}
		if err := run(ctx, patience, "ovsdb-tool", "create", d.database, d.schema); err != nil {
			return err
		}
	}
	return run(ctx, startTime, d.command...)
}

// damaged reports whether a database, which no process writes, can't be read to its end. ovsdb-server would start with what comes
// before the damage, and the DPUs would remove what is missing. Of a tool that is killed, as at the end of its time, nothing is known.
func damaged(ctx context.Context, database string) bool {
	var exit *exec.ExitError
	return errors.As(run(ctx, patience, "ovsdb-tool", "show-log", database), &exit) && exit.ExitCode() == 1
}

// closeOthers closes listeners that aren't in the command line. An older version of this program opens databases by commands to
// the servers, which still apply when this one is back.
func (d daemon) closeOthers(ctx context.Context) error {
	if d.database == "" {
		return nil
	}
	all, err := unixctl.Call(ctx, d.control, "ovsdb-server/list-remotes")
	for _, remote := range strings.Fields(all) {
		if err == nil && !slices.Contains(d.command, "--remote="+remote) {
			_, err = unixctl.Call(ctx, d.control, "ovsdb-server/remove-remote", remote)
		}
	}
	if err != nil {
		return fmt.Errorf("stop listening on an address that isn't served: %w", err)
	}
	return nil
}

// end ends the daemon and waits for it. One that hangs is killed.
func (d daemon) end(ctx context.Context) error {
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := unixctl.Call(asked, d.control, "exit")
	if err == nil || ended(err) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) { // it may end before it answers
		err = d.untilEnded(asked)
	}
	pid := d.pid()
	if err == nil || ctx.Err() != nil || pid == 0 {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill it: %w", err)
	}
	killed, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.untilEnded(killed)
}

// pid returns the daemon's process ID by its pid file, or 0.
func (d daemon) pid() int {
	pid, _ := d.running()
	return pid
}

// running returns the daemon's process ID by its pid file, with its command line, or 0. The number may be another program's by
// now, whose command line doesn't name this file.
func (d daemon) running() (pid int, command []string) {
	data, err := os.ReadFile(d.pidFile)
	if err != nil {
		return 0, nil
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 0 {
		return 0, nil
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	command = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	if err != nil || !slices.Contains(command, "--pidfile="+d.pidFile) {
		return 0, nil
	}
	return pid, command
}

// outdated reports whether the daemon was started with other arguments than it would be now.
func (d daemon) outdated() bool {
	pid, command := d.running()
	return pid != 0 && !slices.Equal(command[1:], d.command[1:])
}

// untilEnded waits until nothing listens at the control socket, and the process, which keeps its pid file longer, has
// ended.
func (d daemon) untilEnded(ctx context.Context) error {
	for {
		if _, err := unixctl.Call(ctx, d.control, "version"); ended(err) && d.pid() == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it doesn't end: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ended reports whether an error means that nothing listens at a control socket.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
