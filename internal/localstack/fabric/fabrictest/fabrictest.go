// Package fabrictest gives tests fabrics.
package fabrictest

import (
	"os"
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
