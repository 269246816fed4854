//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/bmm/provider"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	krakewebhook "github.com/bedplate/bedplate/internal/krake/webhook"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/lab"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	powervswebhook "github.com/bedplate/bedplate/internal/powervs/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

// TestMain lets the test binary play bedplate, also when a lab starts itself again as its supervisor and its simulator.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "lab" {
		main()
		return
	}
	testenv.Parallel(runtime.GOMAXPROCS(0)) // labs compute
	testenv.Main(m, provider.SetupWebhooks, powervswebhook.Features{BootstrapFormatIgnition: true}.SetupWithManager,
		krakewebhook.Options{Imports: tosca.Imports{"https://raw.githubusercontent.com/grycap/tosca/"}}.SetupWithManager)
}

const patience = 3 * time.Minute

func bedplate(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), tools.EnvVar+"="+string(toolstest.Find(t, localstack.Tools()...)))
	return cmd
}

// upping is a "lab up" that runs.
type upping struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

func up(t *testing.T, dir string, args ...string) *upping {
	t.Helper()
	g := NewWithT(t)
	u := &upping{cmd: bedplate(t, append([]string{"lab", "up", "-o", "json", "--dir", dir}, args...)...)}
	u.cmd.Stderr = &u.stderr
	output, err := u.cmd.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	u.lines = bufio.NewScanner(output)
	g.Expect(u.cmd.Start()).To(Succeed())
	t.Cleanup(func() {
		down := exec.Command(os.Args[0], "lab", "down", "--dir", dir) // the test's context has ended
		g.Expect(down.Run()).To(Succeed())
	})
	return u
}

// until reads events until one fits.
func (u *upping) until(t *testing.T, fits func(lab.Event) bool) lab.Event {
	t.Helper()
	for u.lines.Scan() {
		var event lab.Event
		NewWithT(t).Expect(json.Unmarshal(u.lines.Bytes(), &event)).To(Succeed())
		if fits(event) {
			return event
		}
	}
	t.Fatalf("lab up ended too early: %s", &u.stderr)
	return lab.Event{}
}

// ended waits for the end of "lab up" and returns what it said about errors.
func (u *upping) ended(t *testing.T) (errors string, code int) {
	t.Helper()
	for u.lines.Scan() {
		t.Log(u.lines.Text())
	}
	_ = u.cmd.Wait() // the exit code says all
	return u.stderr.String(), u.cmd.ProcessState.ExitCode()
}

func isUp(e lab.Event) bool { return e.Lab != nil }

// pidOf returns the process of a tool that has to do with the folder.
func pidOf(t *testing.T, tool, dir string) int {
	t.Helper()
	for pid, line := range processtest.Mentioning(t, dir) {
		if strings.HasSuffix(strings.Fields(line)[0], "/"+tool) {
			return pid
		}
	}
	t.Fatalf("no %s runs", tool)
	return 0
}

func expectNothingLeft(t *testing.T, dir string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() map[int]string { return processtest.Mentioning(t, dir) }).WithTimeout(patience).Should(BeEmpty())
	g.Expect(filepath.Dir(dir)).NotTo(BeADirectory(), "the folder is gone, and its parent, which was made for it")
}

func TestLab_upShowsTheWayInAndDownLeavesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "state", "lab")

	first := up(t, dir)
	running := first.until(t, isUp).Lab
	g.Expect(running.Dir).To(Equal(dir))
	_, code := first.ended(t)
	g.Expect(code).To(BeZero())
	g.Expect(testenv.RunKubectl(t, running.Kubeconfig, "get", "nvidiabmmclusters", "--all-namespaces")).To(ContainSubstring("No resources found"))

	errors, code := up(t, dir).ended(t)
	g.Expect(code).To(Equal(1))
	g.Expect(errors).To(And(ContainSubstring("a lab is already running in "+dir), ContainSubstring("bedplate lab down")))
	g.Expect(syscall.Kill(running.PID, 0)).To(Succeed(), "the running lab is untouched")

	g.Expect(bedplate(t, "lab", "down", "--dir", dir).CombinedOutput()).To(ContainSubstring("is gone"))
	expectNothingLeft(t, dir)
}

func TestLab_interruptTakesEverythingDown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "state", "lab")

	u := up(t, dir)
	u.until(t, func(e lab.Event) bool { return e.Step == "Cluster API" })
	g.Expect(processtest.Mentioning(t, dir)).NotTo(BeEmpty())
	g.Expect(u.cmd.Process.Signal(os.Interrupt)).To(Succeed())
	errors, code := u.ended(t)
	g.Expect(code).To(Equal(1))
	g.Expect(errors).To(ContainSubstring("interrupted, everything was taken down"))
	expectNothingLeft(t, dir)
}

func TestLab_killedUpTakesEverythingDown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "state", "lab")

	u := up(t, dir)
	u.until(t, func(e lab.Event) bool { return e.Step == "Cluster API" })
	g.Expect(u.cmd.Process.Kill()).To(Succeed())
	u.ended(t)
	expectNothingLeft(t, dir)
}

func TestLab_downCleansUpAfterAKilledSupervisor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "state", "lab")

	u := up(t, dir)
	running := u.until(t, isUp).Lab
	u.ended(t)
	g.Expect(syscall.Kill(running.PID, syscall.SIGKILL)).To(Succeed())
	g.Eventually(func() map[int]string { return processtest.Mentioning(t, dir) }).WithTimeout(patience).Should(BeEmpty(),
		"children don't outlive the supervisor")
	g.Expect(bedplate(t, "lab", "down", "--dir", dir).Run()).To(Succeed())
	expectNothingLeft(t, dir)
}

func TestLab_downTellsWhatCrashed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "state", "lab")

	u := up(t, dir)
	u.until(t, isUp)
	u.ended(t)
	g.Expect(syscall.Kill(pidOf(t, "bmm-manager", dir), syscall.SIGKILL)).To(Succeed())
	g.Eventually(func() string { return lab.Crashes(dir) }).WithTimeout(patience).Should(
		ContainSubstring("bmm-manager ended (signal: killed)"))
	g.Expect(bedplate(t, "lab", "down", "--dir", dir).CombinedOutput()).To(And(
		ContainSubstring("is gone"), ContainSubstring("bmm-manager ended (signal: killed)")))
	expectNothingLeft(t, dir)
}

func TestLab_reportsTheEndOfACrashedChildsLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "state", "lab")

	broken := brokenTools(t, "bmm-manager", "#!/bin/sh\necho out of cheese >&2\nexit 42\n")
	errors, code := up(t, dir, "--tools", broken).ended(t)
	g.Expect(code).To(Equal(1))
	g.Expect(errors).To(And(ContainSubstring("bmm-manager ended (exit status 42)"), ContainSubstring("out of cheese")))
	expectNothingLeft(t, dir)
}

// brokenTools returns a tool folder in which one tool is replaced.
func brokenTools(t *testing.T, name, script string) string {
	t.Helper()
	g := NewWithT(t)
	whole, broken := toolstest.Find(t, localstack.Tools()...), t.TempDir()
	entries, err := os.ReadDir(string(whole))
	g.Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		if entry.Name() != name {
			g.Expect(os.Symlink(whole.Path(entry.Name()), filepath.Join(broken, entry.Name()))).To(Succeed())
		}
	}
	g.Expect(os.WriteFile(filepath.Join(broken, name), []byte(script), 0o700)).To(Succeed())
	return broken
}

// A lab of one system needs no tools of the others.
func TestLab_namesMissingToolsOfItsExampleBeforeItStartsAnything(t *testing.T) {
	t.Parallel()
	for example, test := range map[string]struct{ needs, doesnt []string }{
		"":                  {[]string{"kube-apiserver", "capi-core", "kwok", "bmm-manager"}, []string{"machine-api.yaml", "hydrazine"}},
		"bmm":               {[]string{"bmm-cloud-controller-manager"}, []string{"bmm-machine-controller", "hydrazine"}},
		lab.MachinesExample: {[]string{"bmm-machine-controller", "machine-api.yaml", "kwok"}, []string{"capi-core", "hydrazine"}},
		lab.OverlayExample:  {[]string{"kube-apiserver", "hydrazine-agent"}, []string{"capi-core", "kwok", "bmm-manager"}},
	} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir := filepath.Join(t.TempDir(), "state", "lab")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "lab", "up", "--dir", dir, "--tools", t.TempDir(), "--example", example)
			output, err := cmd.CombinedOutput()
			g.Expect(err).To(HaveOccurred())
			g.Expect(string(output)).To(ContainSubstring(`run "make tools"`))
			for _, name := range test.needs {
				g.Expect(string(output)).To(ContainSubstring(name))
			}
			for _, name := range test.doesnt {
				g.Expect(string(output)).NotTo(ContainSubstring(name))
			}
			g.Expect(filepath.Dir(dir)).NotTo(BeADirectory())
		})
	}
}

func TestHelp_everyCommandTeaches(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	commands := everyCommand(rootCommand(systems))
	g.Expect(len(commands)).To(BeNumerically(">", 10))
	for _, command := range commands {
		path := command.CommandPath()
		g.Expect(command.Short).NotTo(BeEmpty(), path)
		help, err := runWith(t, systems, nil, append(strings.Fields(path)[1:], "--help")...)
		g.Expect(err).NotTo(HaveOccurred(), path)
		g.Expect(help).To(ContainSubstring("Usage:\n  "+path), path)
	}
}

// everyCommand returns a command and all below it that users can find.
func everyCommand(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, below := range c.Commands() {
		if !below.Hidden {
			all = append(all, everyCommand(below)...)
		}
	}
	return all
}

func TestSystems_haveAllExamples(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(systems.examples()).To(Equal(examples.Names()))
}

func TestLab_refusesCountsBeforeItStartsAnything(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--control-planes=2": "--control-planes must be an odd number",
		"--control-planes=0": "--control-planes must be an odd number",
		"--workers=-1":       "--workers can't be negative",
	} {
		g := NewWithT(t)
		dir := filepath.Join(t.TempDir(), "state", "lab")
		output, err := bedplate(t, "lab", "up", "--dir", dir, args).CombinedOutput()
		g.Expect(err).To(HaveOccurred(), args)
		g.Expect(string(output)).To(ContainSubstring(want))
		g.Expect(filepath.Dir(dir)).NotTo(BeADirectory())
	}
}
