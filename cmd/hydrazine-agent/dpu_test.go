package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	patience = 20 * time.Second
	// brief is a lease that doesn't end before a test has done all that is to come before.
	brief = 30 * time.Second
)

// dpu is a DPU with Open vSwitch and, once it is started, the agent.
type dpu struct {
	*world
	name, dir, ip string
	uplinks       []string
	env           []string // of the agent
	agent         *process.Process
	client        agentv1.AgentClient
}

func (w *world) dpu(n int) *dpu {
	node := w.fabric.Topology().DPUs()[n-1]
	d := &dpu{world: w, name: node.Name, dir: w.fabric.RunDir(node.Name), ip: node.Addresses[0].String()}
	for i := range node.NICs {
		d.uplinks = append(d.uplinks, fabric.NIC(i))
	}
	return d
}

// startDatabase starts it again.
func (d *dpu) startDatabase() {
	d.Helper()
	d.daemon("ovsdb-server", d.dir+"/conf.db", "--remote=punix:"+d.fabric.Database(d.name))
}

// startSwitch starts it again.
func (d *dpu) startSwitch() {
	d.Helper()
	d.daemon("ovs-vswitchd", "unix:"+d.fabric.Database(d.name), "--disable-system")
}

func (d *dpu) daemon(program string, args ...string) {
	d.Helper()
	started, err := d.fabric.Start(d.name, process.Command{
		Name: program, Path: program, Env: d.fabric.Environment(d.name), Log: d.dir + "/" + program + ".log",
		Args: append(args, "--pidfile", "--no-chdir", "-vsyslog:off"),
	})
	d.Expect(err).NotTo(HaveOccurred())
	d.Eventually(fmt.Sprintf("%s/%s.%d.ctl", d.dir, program, started.PID())).WithTimeout(patience).Should(BeAnExistingFile())
}

func (d *dpu) pidFile(program string) string { return d.dir + "/" + program + ".pid" }

func (d *dpu) pid(program string) int {
	data, err := os.ReadFile(d.pidFile(program))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

// lives reports whether a daemon has the lock of its pidfile, which the next one needs. A process that is being killed has it until the last one
// of its threads has ended, when /proc has long called it a zombie.
func (d *dpu) lives(program string) bool {
	file, err := os.Open(d.pidFile(program))
	if err != nil {
		return false
	}
	defer file.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	d.Expect(syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock)).To(Succeed())
	return lock.Type != syscall.F_UNLCK
}

func (d *dpu) kill(program string) {
	d.Helper()
	d.Expect(syscall.Kill(d.pid(program), syscall.SIGKILL)).To(Succeed())
	d.Eventually(func() bool { return d.lives(program) }).WithTimeout(patience).Should(BeFalse())
}

// waitUntil a moment, such as the end of a lease.
func (d *dpu) waitUntil(moment time.Time) {
	d.Helper()
	d.Eventually(time.Now).WithTimeout(time.Until(moment) + patience).Should(BeTemporally(">", moment))
}

// switchSocket is where ovs-vswitchd takes orders.
func (d *dpu) switchSocket() string {
	return fmt.Sprintf("%s/ovs-vswitchd.%d.ctl", d.dir, d.pid("ovs-vswitchd"))
}

// isDown reports whether an interface was taken down.
func (d *dpu) isDown(name string) bool {
	flags, err := strconv.ParseUint(strings.TrimSpace(d.in(d.name, "cat", "/sys/class/net/"+name+"/flags")), 0, 32)
	d.Expect(err).NotTo(HaveOccurred())
	return flags&syscall.IFF_UP == 0
}

func (d *dpu) vsctl(args ...string) string {
	d.Helper()
	return strings.TrimSpace(d.run(append([]string{"ovs-vsctl", "--db=unix:" + d.dir + "/db.sock", "--no-wait"}, args...)...))
}

// startAgent starts the agent and returns when it can be given a host.
func (d *dpu) startAgent(flags ...string) {
	d.Helper()
	d.launchAgent(flags...)
	d.dial()
	d.Eventually(func() []string { return d.report().GetUplink().GetAddresses() }).WithTimeout(patience).ShouldNot(BeEmpty())
}

func (d *dpu) launchAgent(flags ...string) {
	d.Helper()
	self, err := os.Executable()
	d.Expect(err).NotTo(HaveOccurred())
	args := []string{"--listen=" + d.ip + ":9660", "--state-dir=" + d.dir + "/state", "--datapath=netdev", "--chassis=" + d.name,
		"--ovs-db=unix:" + d.dir + "/db.sock", "--ovs-rundir=" + d.dir, "--ovn-rundir=" + d.dir, "--ovn-logdir=" + d.dir, "--insecure"}
	for _, uplink := range d.uplinks {
		args = append(args, "--uplink="+uplink)
	}
	d.agent, err = d.fabric.Start(d.name, process.Command{
		Name: "agent of " + d.name, Path: self, Env: append([]string{testenv.AsProgram}, d.env...), Log: d.dir + "/agent.log", Args: append(args, flags...),
	})
	d.Expect(err).NotTo(HaveOccurred())
}

func (d *dpu) dial() {
	d.Helper()
	connection, err := grpc.NewClient("passthrough:///"+d.ip+":9660", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(d.dialIn))
	d.Expect(err).NotTo(HaveOccurred())
	d.Cleanup(func() { connection.Close() })
	d.client = agentv1.NewAgentClient(connection)
}

// dialIn makes a connection from inside the DPU's namespace. A socket stays where it was made.
func (d *dpu) dialIn(ctx context.Context, address string) (connection net.Conn, err error) {
	err = d.fabric.Do(d.name, func() error {
		connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return err
	})
	return connection, err
}

// endAgent ends the agent in one way or another, and waits for it.
func (d *dpu) endAgent(signal syscall.Signal) {
	d.Helper()
	d.Expect(syscall.Kill(d.agent.PID(), signal)).To(Succeed())
	<-d.agent.Done()
}

// report returns what the agent says, or nil if it refuses or says nothing in time.
func (d *dpu) report() *agentv1.Report {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	watch, err := d.client.Watch(ctx, &agentv1.WatchRequest{})
	if err != nil {
		return nil
	}
	report, err := watch.Recv()
	if err != nil {
		return nil
	}
	return report
}

func (d *dpu) port(name string) *agentv1.Port {
	for _, port := range d.report().GetPorts() {
		if port.GetName() == name {
			return port
		}
	}
	return nil
}

// attach gives a port to a host, as the controller would.
func (d *dpu) attach(port, host string, lease time.Duration) (*agentv1.Report, error) {
	return d.attachTo("group-1", port, host, lease)
}

func (d *dpu) attachTo(group, port, host string, lease time.Duration) (*agentv1.Report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return d.client.Attach(ctx, d.request(group, port, host, lease))
}

// request to attach a host, decided on what the agent says now.
func (d *dpu) request(group, port, host string, lease time.Duration) *agentv1.AttachRequest {
	now, seen := d.port(port), d.report().GetTime()
	return &agentv1.AttachRequest{
		Port: port, Generation: now.GetGeneration(), AsOf: seen, Lease: durationpb.New(lease),
		Assignment: &agentv1.Assignment{
			ResourceUid: "uid-" + host, GroupUid: group, Southbound: d.central, LogicalPort: host, EncapIp: d.ip,
		},
	}
}

func (d *dpu) isolate(host string) (*agentv1.Report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return d.client.Isolate(ctx, &agentv1.IsolateRequest{ResourceUid: "uid-" + host})
}

// dpuWith returns a DPU with hosts of one network that reach each other: h2 at pf0hpf, h3 at pf1hpf, and so on. h4 is there
// in any case.
func dpuWith(t *testing.T, hosts ...string) *dpu {
	t.Helper()
	d := newWorld(t, hostsBehind(1, 1, 2, 3, 4)).dpu(1)
	d.startAgent()
	d.attachAll(hosts...)
	return d
}

// attachAll hosts to the DPU's ports, in order, until the first one reaches the others.
func (d *dpu) attachAll(hosts ...string) {
	d.Helper()
	for i, host := range hosts {
		_, err := d.attach(fabric.Port(i), host, time.Hour)
		d.Expect(err).NotTo(HaveOccurred())
	}
	for _, host := range hosts[1:] {
		d.reaches(hosts[0], host)
	}
}
