package central

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	server := func(kind string) daemon {
		d := daemon{
			name: "ovsdb-server " + kind, control: file(kind + ".ctl"), pidFile: file(kind + ".pid"), database: file(kind + ".db"),
			schema: filepath.Join(schemas, "ovn-"+kind+".ovsschema"),
		}
		d.command = d.background("ovsdb-server", file(kind+".log"), d.database, "--remote=punix:"+file(kind+".sock"))
		return d
	}
	northd := daemon{name: "ovn-northd", control: file("northd.ctl"), pidFile: file("northd.pid")}
	northd.command = northd.background("ovn-northd", file("northd.log"),
		"--ovnnb-db=unix:"+file("nb.sock"), "--ovnsb-db=unix:"+file("sb.sock"))
	return []daemon{server("nb"), server("sb"), northd}
}

func (d daemon) background(program, log string, args ...string) []string {
	return append([]string{program}, append(args, "--unixctl="+d.control, "--pidfile="+d.pidFile, "--log-file="+log,
		"--detach", "--no-chdir", "-vconsole:off")...)
}

// ensure starts the daemon if it doesn't run. A database that it can't start with is put aside: there will be another. Before
// a new one is made, shut is called.
func (d daemon) ensure(ctx context.Context, shut func() error) error {
	if _, err := unixctl.Call(ctx, d.control, "version"); err == nil {
		return nil
	} else if !ended(err) {
		return err
	}
	if d.database == "" {
		return run(ctx, d.command...)
	}
	if _, err := os.Stat(d.database); errors.Is(err, fs.ErrNotExist) {
		if err := shut(); err != nil {
			return err
		}
		if err := run(ctx, "ovsdb-tool", "create", d.database, d.schema); err != nil {
			return err
		}
	}
	err := run(ctx, d.command...)
	if err == nil || run(ctx, "ovsdb-tool", "db-name", d.database) == nil {
		return err
	}
	if err := os.Rename(d.database, d.database+".damaged"); err != nil {
		return fmt.Errorf("put a damaged database aside: %w", err)
	}
	return d.ensure(ctx, shut)
}

// end ends the daemon and waits for it. One that hangs is killed.
func (d daemon) end(ctx context.Context) error {
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := unixctl.Call(asked, d.control, "exit")
	if err == nil || ended(err) {
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

// pid returns the daemon's process ID by its pid file, or 0. The number may be another program's by now, which wasn't told
// to write this file.
func (d daemon) pid() int {
	data, err := os.ReadFile(d.pidFile)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 0 {
		return 0
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !slices.Contains(strings.Split(string(command), "\x00"), "--pidfile="+d.pidFile) {
		return 0
	}
	return pid
}

func (d daemon) untilEnded(ctx context.Context) error {
	for {
		if _, err := unixctl.Call(ctx, d.control, "version"); ended(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it doesn't end: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ended says whether an error means that nobody listens at a control socket.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
