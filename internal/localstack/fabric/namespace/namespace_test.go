package namespace_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
)

func create(t testing.TB) string {
	t.Helper()
	fabrictest.Require(t)
	name := fabric.RandomPrefix("hz")
	t.Cleanup(func() { NewWithT(t).Expect(namespace.Remove(name)).To(Succeed()) })
	NewWithT(t).Expect(namespace.Create(name)).To(Succeed())
	return name
}

func interfaces() []string {
	all, _ := net.Interfaces()
	var names []string
	for _, each := range all {
		names = append(names, each.Name)
	}
	return names
}

func TestDo_runsCodeInTheNamespaceAndNothingElse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	name := create(t)
	here, err := os.Stat("/proc/thread-self/ns/net")
	g.Expect(err).NotTo(HaveOccurred())

	for range 50 { // more often than there are threads
		g.Expect(namespace.Do(name, func() error {
			there, err := os.Stat("/proc/thread-self/ns/net")
			if err == nil && os.SameFile(here, there) {
				err = errors.New("it runs at home")
			}
			return err
		})).To(Succeed())
		now, err := os.Stat("/proc/thread-self/ns/net")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.SameFile(here, now)).To(BeTrue())
	}
	expectAllThreadsAtHome(t)
}

func TestDo_comesBackFromAPanicAndFromAnEndedGoroutine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	name := create(t)
	for _, end := range []func(){runtime.Goexit, func() { panic("as a test does") }} {
		ended := make(chan bool)
		go func() {
			defer close(ended)
			defer func() { _ = recover() }()
			_ = namespace.Do(name, func() error { end(); return nil })
		}()
		g.Eventually(ended).WithTimeout(10 * time.Second).Should(BeClosed())
	}
	expectAllThreadsAtHome(t)
}

// expectAllThreadsAtHome doesn't mind a thread that visits another test's namespace.
func expectAllThreadsAtHome(t testing.TB) {
	t.Helper()
	here, err := os.Stat("/proc/thread-self/ns/net")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Eventually(func() (away []string) {
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			now, err := os.Stat("/proc/self/task/" + task.Name() + "/ns/net")
			if err == nil && !os.SameFile(here, now) {
				away = append(away, task.Name())
			}
		}
		return away
	}).WithTimeout(10 * time.Second).Should(BeEmpty())
}

func TestDo_passesOnErrorsAndKnowsNoOtherNames(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	mine := errors.New("mine")
	g.Expect(namespace.Do(create(t), func() error { return mine })).To(MatchError(mine))
	g.Expect(namespace.Do("hznone", func() error { return nil })).To(MatchError(os.ErrNotExist))
}

func TestCreate_hasOnlyALoopback(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(namespace.Do(create(t), func() error {
		g.Expect(interfaces()).To(HaveExactElements("lo"))
		return nil
	})).To(Succeed())
}

func TestRemove_killsWhatRunsThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	name, other := create(t), create(t)
	start := func(in string) *exec.Cmd {
		command := exec.Command("ip", "netns", "exec", in, "sleep", "300")
		g.Expect(command.Start()).To(Succeed())
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
		g.Eventually(func() ([]int, error) { return namespace.Processes(in) }).
			WithTimeout(10 * time.Second).Should(HaveExactElements(command.Process.Pid))
		return command
	}
	victim, bystander := start(name), start(other)

	g.Expect(namespace.Remove(name)).To(Succeed())
	g.Expect(namespace.List(name)).To(BeEmpty())
	g.Expect(victim.Wait()).To(MatchError("signal: killed"))
	g.Expect(namespace.Processes(other)).To(HaveExactElements(bystander.Process.Pid))
}

func TestRemove_takesWhatIsHalfMadeOrGone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	half := create(t) + "x"
	g.Expect(os.WriteFile(namespace.Path(half), nil, 0o444)).To(Succeed())

	g.Expect(namespace.Remove(half, "hznone")).To(Succeed())
	g.Expect(namespace.List(half)).To(BeEmpty())
}

// On a computer where "ip netns" hasn't been used yet, its first use would hide the names made before.
func TestRemove_mixesWithIPNetns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	name := create(t)
	g.Expect(exec.Command("ip", "netns", "add", name+"x").Run()).To(Succeed())
	g.Expect(namespace.List(name)).To(ConsistOf(name, name+"x"))

	g.Expect(namespace.Remove(name, name+"x")).To(Succeed())
	g.Expect(namespace.List(name)).To(BeEmpty())
}
