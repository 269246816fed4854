package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// No image can be built here. What goes wrong is that something is missing that Docker isn't given, or a Go that is too old.
func TestImage_isBuiltFromWhatDockerIsGiven(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := filepath.Join("..", "..")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, name))
		g.Expect(err).NotTo(HaveOccurred())
		return string(data)
	}
	given := t.TempDir()
	everythingElse := false
	for _, line := range strings.Split(read(".dockerignore"), "\n") {
		name, kept := strings.CutPrefix(line, "!")
		everythingElse = everythingElse || line == "*"
		if !kept {
			continue
		}
		info, err := os.Stat(filepath.Join(root, name))
		g.Expect(err).NotTo(HaveOccurred())
		if info.IsDir() {
			g.Expect(os.CopyFS(filepath.Join(given, name), os.DirFS(filepath.Join(root, name)))).To(Succeed())
		} else {
			g.Expect(os.WriteFile(filepath.Join(given, name), []byte(read(name)), 0o600)).To(Succeed())
		}
	}
	g.Expect(everythingElse).To(BeTrue(), "the rest is left out")

	programs, err := filepath.Glob(filepath.Join(given, "cmd", "*-*"))
	g.Expect(err).NotTo(HaveOccurred())
	dockerfile, withOVN := read("Dockerfile"), read("Dockerfile.ovn")
	byDefault := regexp.MustCompile(`ARG MANAGER=(\S+)`).FindStringSubmatch(dockerfile)
	inOVN := regexp.MustCompile(`\./cmd/(\S+)`).FindStringSubmatch(withOVN)
	g.Expect(programs).To(ContainElements(HaveSuffix("/"+byDefault[1]), HaveSuffix("/"+inOVN[1]), HaveSuffix("/hydrazine-manager")))
	for _, program := range programs {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/"+filepath.Base(program))
		list.Dir = given
		out, err := list.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	}
	for _, stage := range []string{"hydrazine-central", "hydrazine-agent", "dpf-dpu-agent"} {
		g.Expect(withOVN).To(ContainSubstring(" AS " + stage + "\n"))
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read("go.mod"))
	for _, file := range []string{dockerfile, withOVN} {
		g.Expect(file).To(ContainSubstring("FROM --platform=$BUILDPLATFORM golang:" + version[1] + " AS build\n"))
	}
}

// Docker has no history of Git's, so that the build has to say the version: into a variable that there is.
func TestImage_knowsItsVersion(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	for _, name := range []string{"Dockerfile", "Dockerfile.ovn"} {
		g := NewWithT(t)
		text, err := os.ReadFile(filepath.Join(root, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(MatchRegexp(`(?m)^ARG .*\bVERSION\b`))
		linked := regexp.MustCompile(`-ldflags "([^"]*)"`).FindStringSubmatch(string(text))
		g.Expect(linked).NotTo(BeNil())
		program := filepath.Join(t.TempDir(), "program")
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", strings.Replace(linked[1], "$VERSION", "v1.2.3", 1), "-o", program,
			"./cmd/hydrazine-agent")
		build.Dir = root
		out, err := build.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", out)
		out, err = exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", out)
		g.Expect(string(out)).To(Equal("hydrazine-agent version v1.2.3\n"))
	}
}
