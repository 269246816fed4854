package central

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/unixctl"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// soon is how long a test waits for what comes by itself.
const soon = 30 * time.Second

// loopback is where the tests' DPUs would connect.
var loopback = netip.MustParseAddr("127.0.0.1")

// start returns a runtime in a folder whose sockets' paths are short, on ports of this test's own.
func start(t *testing.T, first uint16) (*Processes, *WithT) {
	t.Helper()
	toolstest.Programs(t, "ovn-northd")
	dir, err := os.MkdirTemp("", "hz")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	p := NewProcesses(t.Context(), dir, loopback)
	p.Ports = [2]uint16{first, first + 9}
	t.Cleanup(func() {
		files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		for _, file := range files {
			g.Expect(p.Delete(context.Background(), filepath.Base(filepath.Dir(file)))).To(Succeed())
		}
		g.Expect(os.RemoveAll(dir)).To(Succeed())
	})
	return p, g
}

func (p *Processes) pid(name string) (int, error) {
	data, err := os.ReadFile(filepath.Join(p.Dir, name+".pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

func (p *Processes) kill(g Gomega, name string) {
	pid, err := p.pid(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
	g.Eventually(p.answers, soon).WithArguments(name).Should(BeFalse())
}

// answers reports whether a daemon listens: a dead one may still be a zombie.
func (p *Processes) answers(name string) bool {
	_, err := unixctl.Call(context.Background(), filepath.Join(p.Dir, name+".ctl"), "version")
	return !ended(err)
}

// chassis is a DPU with a certificate.
type chassis struct {
	name                          string
	key, certificate, authorities string // files
}

// chassis gets a certificate of a group.
func (p *Processes) chassis(t *testing.T, a *Authority, name string, life time.Duration) chassis {
	t.Helper()
	g, dir := NewWithT(t), t.TempDir()
	c := chassis{name, filepath.Join(dir, "key"), filepath.Join(dir, "crt"), filepath.Join(dir, "ca")}
	key, request := newRequest(t, name)
	certificate, err := a.Sign(request, name, life)
	g.Expect(err).NotTo(HaveOccurred())
	for file, data := range map[string][]byte{c.key: key, c.certificate: certificate, c.authorities: a.PEM()} {
		g.Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
	}
	return c
}

// sbctl calls a southbound database as a chassis does.
func (c chassis) sbctl(at Central, args ...string) error {
	return c.sbctlWithin(soon, at, args...)
}

// connects reports whether a chassis gets through to a southbound database. One that doesn't tries until the time is over.
func (c chassis) connects(at Central) bool {
	return c.sbctlWithin(5*time.Second, at, "get-connection") == nil
}

func (c chassis) sbctlWithin(d time.Duration, at Central, args ...string) error {
	said, err := exec.Command("ovn-sbctl", append([]string{"--db=" + at.ForDPUs, "--private-key=" + c.key, "--certificate=" + c.certificate,
		"--ca-cert=" + c.authorities, fmt.Sprintf("--timeout=%.0f", d.Seconds())}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// connects reports whether a DPU gets through to a southbound database.
func (p *Processes) connects(t *testing.T, c Central) func() bool {
	t.Helper()
	dpu := p.chassis(t, c.Authority, "dpu1", time.Hour)
	return func() bool { return dpu.connects(c) }
}

// open a central as the controller does.
func open(t *testing.T, g Gomega, c Central) {
	t.Helper()
	south, err := ovn.DialSouthbound(t.Context(), c.Southbound, nil)
	g.Expect(err).NotTo(HaveOccurred())
	defer south.Close()
	g.Eventually(func() error { return south.Open(t.Context(), c.Listen) }, soon).Should(Succeed()) // northd makes the row that it needs
	g.Expect(south.IsOpen(t.Context(), c.Listen)).To(BeTrue())
}

func TestProcesses_beginClosedAndAreOpened(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17100)
	c, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.ForDPUs).To(Equal("ssl:127.0.0.1:17100"))
	g.Expect(exec.Command("ovn-nbctl", "--db="+c.Northbound, "--timeout=30", "--wait=sb", "ls-add", "a").Run()).To(Succeed(), "northd works")
	connects := p.connects(t, c)
	g.Expect(connects()).To(BeFalse())
	for range 2 {
		open(t, g, c)
		g.Eventually(connects, soon).Should(BeTrue())
	}
}

// A controller that was killed finds its centrals again, open as they were.
func TestProcesses_outliveWhoStartedThem(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17110)
	before, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	open(t, g, before)
	connects := p.connects(t, before)
	pid, err := p.pid("blue/nb")
	g.Expect(err).NotTo(HaveOccurred())

	again := NewProcesses(t.Context(), p.Dir, loopback)
	again.Ports = p.Ports
	g.Expect(again.Ensure(t.Context(), "red")).To(HaveField("ForDPUs", "ssl:127.0.0.1:17111"), "not the other's port")
	found, err := again.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Authority.PEM()).To(Equal(before.Authority.PEM()))
	g.Expect(again.pid("blue/nb")).To(Equal(pid))
	g.Eventually(connects, soon).Should(BeTrue())
	again.kill(g, "blue/northd")
	g.Eventually(again.Died(), soon).Should(Receive(Equal("blue")))
}

func TestProcesses_thatEndAreStartedAgain(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17120)
	c, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	open(t, g, c)
	for _, name := range []string{"nb", "northd", "sb"} {
		p.kill(g, "blue/"+name)
		g.Eventually(p.Died(), soon).Should(Receive(Equal("blue")), name)
		g.Expect(p.Ensure(t.Context(), "blue")).To(HaveField("ForDPUs", c.ForDPUs), name)
		g.Expect(exec.Command("ovn-nbctl", "--db="+c.Northbound, "--timeout=30", "--wait=sb", "--may-exist", "ls-add", "a").Run()).To(Succeed(), name)
	}
	g.Eventually(p.connects(t, c), soon).Should(BeTrue(), "nothing is lost")
}

// An open southbound database would remove from the DPUs what the new northbound one lacks.
func TestProcesses_closeForANewDatabase(t *testing.T) {
	t.Parallel()
	damage := func(db string) error { return os.WriteFile(db, []byte("no database"), 0o600) }
	cut := func(db string) error { // in the middle of a record, as by a computer that lost its power
		info, err := os.Stat(db)
		if err != nil {
			return err
		}
		return os.Truncate(db, info.Size()-20)
	}
	for i, test := range []struct {
		name    string
		daemons []string // that are killed
		lose    func(db string) error
	}{
		{"lost", []string{"nb"}, os.Remove}, {"damaged", []string{"nb"}, damage},
		{"lost with the southbound one dead", []string{"nb", "sb"}, os.Remove},
		{"lost southbound", []string{"sb"}, os.Remove}, {"damaged southbound", []string{"sb"}, damage},
		{"cut off", []string{"nb"}, cut}, {"cut off southbound", []string{"sb"}, cut},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, g := start(t, uint16(17300+20*i))
			c, err := p.Ensure(t.Context(), "blue")
			g.Expect(err).NotTo(HaveOccurred())
			open(t, g, c)
			connects := p.connects(t, c)
			g.Eventually(connects, soon).Should(BeTrue())
			g.Expect(exec.Command("ovn-nbctl", "--db="+c.Northbound, "--timeout=30", "--wait=sb", "ls-add", "last").Run()).To(Succeed())
			for _, name := range test.daemons {
				p.kill(g, "blue/"+name)
			}
			g.Expect(test.lose(filepath.Join(p.Dir, "blue", test.daemons[0]+".db"))).To(Succeed())
			_, err = p.Ensure(t.Context(), "blue")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(connects()).To(BeFalse())
			g.Expect(exec.Command("ovn-nbctl", "--db="+c.Northbound, "--timeout=30", "--wait=sb", "ls-add", "a").Run()).To(Succeed())
			open(t, g, c)
			g.Eventually(connects, soon).Should(BeTrue())
		})
	}
}

// Two servers of one database would each have half of the truth.
func TestProcesses_leaveAloneWhatHangs(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17140)
	_, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	pid, err := p.pid("blue/nb")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(Succeed())
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // before the runtime's own
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = p.Ensure(ctx, "blue")
	g.Expect(err).To(MatchError(ContainSubstring("start ovsdb-server nb: call version")))
	g.Expect(p.pid("blue/nb")).To(Equal(pid))
}

func TestProcesses_areDeletedOnceAndForAll(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17150)
	_, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	var ends []net.Conn
	for _, name := range []string{"nb", "northd"} {
		connection, err := dial(t.Context(), filepath.Join(p.Dir, "blue", name+".ctl"))
		g.Expect(err).NotTo(HaveOccurred())
		ends = append(ends, connection)
	}
	p.kill(g, "blue/sb")
	for range 2 {
		g.Expect(p.Delete(t.Context(), "blue")).To(Succeed())
	}
	for _, connection := range ends {
		g.Expect(connection.SetReadDeadline(time.Now().Add(patience))).To(Succeed())
		_, err := connection.Read(make([]byte, 1))
		g.Expect(err).To(MatchError(io.EOF), "the process has ended")
	}
	g.Expect(filepath.Join(p.Dir, "blue")).NotTo(BeADirectory())
}

func TestProcesses_areDeletedEvenIfTheyHang(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17170)
	_, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	pid, err := p.pid("blue/nb")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(Succeed())
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // before the runtime's own
	g.Expect(p.Delete(t.Context(), "blue")).To(Succeed())
	g.Expect(filepath.Join(p.Dir, "blue")).NotTo(BeADirectory())
	g.Expect(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))).To(BeEmpty(), "the process has ended")
}

// The process that has the number now isn't ours.
func TestProcesses_killNobodyElse(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17180)
	hanging(t, p, "blue/nb")
	g.Expect(os.WriteFile(filepath.Join(p.Dir, "blue", "nb.pid"), []byte(strconv.Itoa(os.Getpid())), 0o600)).To(Succeed())
	g.Expect(p.Delete(t.Context(), "blue")).To(MatchError(ContainSubstring("end ovsdb-server nb")))
	g.Expect(os.Remove(filepath.Join(p.Dir, "blue", "nb.ctl"))).To(Succeed())
}

func TestProcesses_thatHangHoldUpNoOtherGroup(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17190)
	called := hanging(t, p, "blue/nb")
	done := make(chan error)
	go func() {
		_, err := p.Ensure(t.Context(), "blue")
		done <- err
	}()
	g.Eventually(called, soon).Should(Receive())
	_, err := p.Ensure(t.Context(), "red")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Delete(t.Context(), "red")).To(Succeed())
	g.Expect(done).NotTo(Receive(), "it still hangs")
	g.Expect(os.Remove(filepath.Join(p.Dir, "blue", "nb.ctl"))).To(Succeed())
	g.Eventually(done, "1m").Should(Receive(HaveOccurred()))
}

// hanging has a control socket that never answers. It reports calls.
func hanging(t *testing.T, p *Processes, name string) <-chan struct{} {
	t.Helper()
	socket := filepath.Join(p.Dir, name+".ctl")
	g := NewWithT(t)
	g.Expect(os.MkdirAll(filepath.Dir(socket), 0o700)).To(Succeed())
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	called := make(chan struct{}, 8)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = connection.Close() }) // what nothing refers to is closed by the garbage collector
			called <- struct{}{}
		}
	}()
	return called
}

// A DPU that doesn't know yet that its group is deleted must not connect to another tenant's central.
func TestProcesses_doNotReuseAPortSoon(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17200)
	p.Ports[1] = p.Ports[0] + 2
	_, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Delete(t.Context(), "blue")).To(Succeed())
	again := NewProcesses(t.Context(), p.Dir, loopback)
	again.Ports = p.Ports
	g.Expect(again.Ensure(t.Context(), "red")).To(HaveField("ForDPUs", "ssl:127.0.0.1:17201"))
	g.Expect(again.Ensure(t.Context(), "green")).To(HaveField("ForDPUs", "ssl:127.0.0.1:17202"))
	g.Expect(again.Ensure(t.Context(), "blue")).To(HaveField("ForDPUs", "ssl:127.0.0.1:17200"), "from the beginning")
}

// A disk that was full leaves an empty file. The group has another port then, and no other group waits for it.
func TestProcesses_chooseAPortAnewWhereItsFileIsEmpty(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17220)
	for _, file := range []string{"southbound.port", "blue/southbound.port"} {
		g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(p.Dir, file)), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(p.Dir, file), nil, 0o600)).To(Succeed())
	}
	g.Expect(p.Ensure(t.Context(), "red")).To(HaveField("ForDPUs", "ssl:127.0.0.1:17220"))
	g.Expect(p.Ensure(t.Context(), "blue")).To(HaveField("ForDPUs", "ssl:127.0.0.1:17221"))
}

func TestProcesses_sayWhenThereIsNoPortLeft(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17160)
	p.Ports[1] = p.Ports[0]
	_, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = p.Ensure(t.Context(), "red")
	g.Expect(err).To(MatchError("all ports from 17160 to 17160 belong to other groups: allow more"))
	g.Expect(p.Delete(t.Context(), "blue")).To(Succeed())
	g.Expect(p.Ensure(t.Context(), "red")).To(HaveField("ForDPUs", "ssl:127.0.0.1:17160"))
}
