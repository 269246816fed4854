// Package newsystem follows docs/new-system.md literally.
package newsystem

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

const (
	root  = "../.."
	guide = "docs/new-system.md"
	// timeout is for all commands of the guide, also where others have the CPUs.
	timeout = 20 * time.Minute
)

// A system made by the guide's commands, in a copy of this repository that shares the tools and Go's build cache.
func TestNewSystem_asTheGuideSays(t *testing.T) {
	g := NewWithT(t)
	script := commands(g)
	g.Expect(script).To(ContainSubstring("make new-system NAME=toy\n"))
	copied := copyRepository(t, g)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-xeuo", "pipefail", "-c", script)
	command.Dir = copied
	state := filepath.Join(t.TempDir(), "state")
	command.Env = append(os.Environ(), "BEDPLATE_TOOLS="+filepath.Join(copied, "bin"), "XDG_STATE_HOME="+state, "MAKEFLAGS=", "CI=true")
	command.WaitDelay = time.Minute // for the output of what the shell has started
	t.Cleanup(func() {
		if _, err := os.Stat(state); err == nil { // a command has failed
			down := exec.CommandContext(context.Background(), filepath.Join(copied, "bin", "bedplate"), "lab", "down")
			down.Env = command.Env
			if out, err := down.CombinedOutput(); err != nil {
				t.Errorf("take the lab down: %v\n%s", err, out)
			}
		}
	})
	out, err := command.CombinedOutput()
	t.Log(string(out))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(out)).To(And(
		MatchRegexp(`ToyCluster/demo +True.*\n +network [0-9a-f-]{36}\n`),
		MatchRegexp(`\nnetwork +network +bound +[0-9a-f-]{36}`),
		ContainSubstring("description: nodes → workers"), ContainSubstring("Plan: 1 to change."),
		ContainSubstring("No orphans."), ContainSubstring("is gone\n"),
	))
	g.Expect(string(out)).To(MatchRegexp(`(?m)^ok\s+\S+/internal/toy/provider`), "crash suite and operations suite")
}

// commands are those in the guide's blocks of shell commands, in its order.
func commands(g Gomega) string {
	text, err := os.ReadFile(filepath.Join(root, guide))
	g.Expect(err).NotTo(HaveOccurred())
	var script strings.Builder
	for _, part := range strings.Split(string(text), "\n```sh\n")[1:] {
		block, _, closed := strings.Cut(part, "\n```\n")
		g.Expect(closed).To(BeTrue(), part)
		script.WriteString(block + "\n")
	}
	return script.String()
}

// copyRepository copies what git knows, or would add, and links to the tools. What the commands build isn't shared.
func copyRepository(t *testing.T, g *WithT) (dir string) {
	t.Helper()
	dir = t.TempDir()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	files, err := list.Output()
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range strings.Split(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, file))
		if os.IsNotExist(err) { // deleted, and not committed yet
			continue
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755)).To(Succeed())
		if info.Mode()&os.ModeSymlink != 0 { // charts share files
			target, err := os.Readlink(filepath.Join(root, file))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.Symlink(target, filepath.Join(dir, file))).To(Succeed())
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(dir, file), content, info.Mode())).To(Succeed())
		g.Expect(os.Chtimes(filepath.Join(dir, file), time.Time{}, time.Unix(0, 0))).To(Succeed(), "older than the tools, for make")
	}
	bin := filepath.Join(dir, "bin")
	g.Expect(os.Mkdir(bin, 0o755)).To(Succeed())
	shared := toolstest.Find(t, "controller-gen", "kubectl", "etcd", "kube-apiserver", "capi-core", "manifests")
	entries, err := os.ReadDir(string(shared))
	g.Expect(err).NotTo(HaveOccurred())
	for _, tool := range entries {
		if _, ours := os.Stat(filepath.Join(root, "cmd", tool.Name())); ours == nil {
			continue
		}
		g.Expect(os.Symlink(shared.Path(tool.Name()), filepath.Join(bin, tool.Name()))).To(Succeed())
	}
	return dir
}
