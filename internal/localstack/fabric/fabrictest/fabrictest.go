// Package fabrictest gives tests fabrics.
package fabrictest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// Require is for tests that need a fabric.
func Require(t testing.TB) {
	t.Helper()
	toolstest.Need(t, fabric.Check())
}

// Up builds a topology that goes down with the test.
func Up(t testing.TB, topology fabric.Topology) *fabric.Fabric {
	t.Helper()
	Require(t)
	if err := first(); err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Up(t.Context(), Dir(t), fabric.RandomPrefix("hz"), topology)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Down(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// first gives the processors to this process, and to all that it starts, before compilers and tests without a fabric: the nodes of a fabric
// stand for machines, and DPUs forward in hardware. How many packets are lost, and for how long, is measured without the wait for a
// processor.
var first = sync.OnceValue(func() error {
	threads, err := filepath.Glob("/proc/self/task/*")
	for _, thread := range threads {
		id, _ := strconv.Atoi(filepath.Base(thread))
		if failed := syscall.Setpriority(syscall.PRIO_PROCESS, id, -20); !errors.Is(failed, syscall.ESRCH) { // it has ended
			err = errors.Join(err, failed)
		}
	}
	return err
})

// Dir returns an empty folder with a path that is short enough for sockets, unlike t.TempDir's.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
