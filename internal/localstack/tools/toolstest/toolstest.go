// Package toolstest gives tests the built tools.
package toolstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// Need ends a test that err keeps from running, if there is one: it fails in CI (the environment variable CI is set) and skips elsewhere.
func Need(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// Programs are of Debian's packages.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			Need(t, fmt.Errorf("run `make lab-deps`: %w", err))
		}
	}
}

// Root is whom network namespaces and interfaces want.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Need(t, errors.New("this test needs root"))
	}
}

// Find returns the tool folder, with these tools.
func Find(t testing.TB, names ...string) tools.Dir {
	t.Helper()
	dir, err := tools.Find("")
	if err == nil {
		err = dir.Require(names...)
	}
	Need(t, err)
	return dir
}
