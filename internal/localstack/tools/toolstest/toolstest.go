// Package toolstest gives tests the built tools.
package toolstest

import (
	"os"
	"testing"

	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// Find returns the tool folder. A missing folder or tool fails the test in CI (the environment variable CI is set) and
// skips it elsewhere.
func Find(t testing.TB, names ...string) tools.Dir {
	t.Helper()
	dir, err := tools.Find("")
	if err == nil {
		err = dir.Require(names...)
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return dir
}
