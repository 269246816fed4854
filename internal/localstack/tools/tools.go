// Package tools finds the programs that a local stack runs: etcd, kube-apiserver, Cluster API's managers and others.
// They are not downloaded: "make tools" builds them into one folder.
package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// EnvVar names the environment variable that points to the tool folder.
const EnvVar = "BEDPLATE_TOOLS"

// Dir is a folder with built tools.
type Dir string

// Find returns the tool folder: flag if it isn't empty, else $BEDPLATE_TOOLS, else bin in the working directory or
// beside the nearest go.mod above it. It does not look for single tools: see Require.
func Find(flag string) (Dir, error) {
	if flag != "" {
		return existing(flag, "--tools")
	}
	if env := os.Getenv(EnvVar); env != "" {
		return existing(env, "$"+EnvVar)
	}
	return existing(filepath.Join(ModuleRoot("."), "bin"), "the default")
}

func existing(dir, source string) (Dir, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the tool folder: %w", err)
	}
	//nolint:gosec // the folder is the user's own choice
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("no tool folder at %s (%s): run \"make tools\", or name the folder with --tools or $%s",
			dir, source, EnvVar)
	}
	return Dir(dir), nil
}

// ModuleRoot returns the nearest folder at or above dir with a go.mod, else dir itself.
func ModuleRoot(dir string) string {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for at := whole; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// Path returns the path of a tool or of a file beside the tools.
func (d Dir) Path(name ...string) string {
	return filepath.Join(append([]string{string(d)}, name...)...)
}

// Require fails, naming all that is missing, unless every named tool is in the folder.
func (d Dir) Require(names ...string) error {
	var missing []string
	for _, name := range names {
		_, err := os.Stat(d.Path(name))
		switch {
		case slices.Contains(missing, name):
		case errors.Is(err, os.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			return fmt.Errorf("look for tool %s: %w", name, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing in %s: %s: run \"make tools\"", d, strings.Join(missing, ", "))
	}
	return nil
}
