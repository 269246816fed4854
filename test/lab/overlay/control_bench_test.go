package overlay_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/ipv4"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

var (
	// ttlEnds is a flood of packets that the first router answers with an ICMP error each.
	ttlEnds = flood{ttl: 1, to: func(int) netip.Addr { return netip.MustParseAddr("172.19.0.10") }}
	// unresolved is one of packets to neighbors of the gateway router that don't exist: it asks all of the fabric for each.
	unresolved = flood{ttl: 64, to: func(n int) netip.Addr { return netip.AddrFrom4([4]byte{172, 18, 0, byte(150 + n%100)}) }}
)

// What a host makes the daemons of its DPU do, with OVN's control plane meters and without.
func BenchmarkControlPlane(b *testing.B) {
	for _, metered := range []bool{false, true} {
		d := upDrawn(b, fabric.Flat(2))
		if !metered {
			d.unmeter()
		}
		dpu, host := d.Topology().DPUs()[0], d.members[0].Name
		asked := count(d.t, d.Fabric, d.Topology().DPUs()[1], "p0", func([]byte) bool { return true }) // what all of the fabric gets
		for name, f := range map[string]flood{
			"none": {}, "TTL 1": ttlEnds, "unresolved": unresolved,
			"routed": {ttl: 64, to: func(int) netip.Addr { return netip.MustParseAddr("172.19.0.10") }},
		} {
			b.Run(fmt.Sprintf("metered=%t/%s", metered, name), func(b *testing.B) {
				for b.Loop() {
					before, was, began := d.processor(dpu.Name), asked.Load(), time.Now()
					sent := d.send(host, f, 5*time.Second)
					took := time.Since(began).Seconds()
					for program, used := range d.processor(dpu.Name) {
						b.ReportMetric((used-before[program]).Seconds()/took*100, program+"-%")
					}
					b.ReportMetric(float64(sent)/took, "sent/s")
					b.ReportMetric(float64(asked.Load()-was)/took, "fabric/s")
				}
			})
		}
	}
}

// A host that floods the fabric with packets to neighbors that don't exist makes its gateway router ask for few of them.
func TestMeters_boundWhatAHostMakesOVNAskTheFabric(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.Flat(2))
	asked := count(t, d.Fabric, d.Topology().DPUs()[1], "p0", func([]byte) bool { return true })
	before, began := asked.Load(), time.Now()
	sent := d.send(d.members[0].Name, unresolved, 5*time.Second)
	d.Consistently(func() int64 {
		most := int64(200 * (2 + time.Since(began).Seconds())) // twice the rate and its burst, for all else on the fabric
		return asked.Load() - before - most
	}, 2*time.Second).Should(BeNumerically("<", 0), "after %d packets", sent)
	d.Expect(asked.Load()).To(BeNumerically(">", before), "it asks for some")
}

// unmeter all of OVN's routers and switches.
func (d *drawn) unmeter() {
	d.t.Helper()
	for _, table := range []string{"logical_router", "logical_switch"} {
		out, err := d.Command(d.t.Context(), fabric.Root, "ovn-nbctl", "--db=unix:"+filepath.Join(d.dir, "nb.sock"),
			"--bare", "--columns=_uuid", "list", table).CombinedOutput()
		d.Expect(err).NotTo(HaveOccurred(), "%s", out)
		for _, uuid := range strings.Fields(string(out)) {
			d.nb("clear " + table + " " + uuid + " copp")
		}
	}
	d.nb("--wait=hv sync")
}

// flood is what a host sends.
type flood struct {
	ttl int
	to  func(n int) netip.Addr
}

// send a flood for some time, 10,000 packets a second. It returns how many were sent.
func (d *drawn) send(host string, f flood, long time.Duration) (sent int) {
	d.t.Helper()
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	if f.to == nil {
		time.Sleep(long)
		return 0
	}
	var conn *net.UDPConn
	d.Expect(d.Do(host, func() (err error) {
		conn, err = net.ListenUDP("udp4", nil)
		return err
	})).To(Succeed())
	defer conn.Close()
	d.Expect(ipv4.NewConn(conn).SetTTL(f.ttl)).To(Succeed())
	for end := time.Now().Add(long); time.Now().Before(end); <-pace.C {
		for range 10 {
			sent++
			_, _ = conn.WriteToUDPAddrPort([]byte("flood"), netip.AddrPortFrom(f.to(sent), uint16(1024+sent%60000)))
		}
	}
	return sent
}

// processor time that the daemons of a DPU have used.
func (d *drawn) processor(dpu string) map[string]time.Duration {
	d.t.Helper()
	used := map[string]time.Duration{}
	for _, program := range []string{"ovn-controller", "ovs-vswitchd"} {
		text, err := os.ReadFile(filepath.Join(d.RunDir(dpu), program+".pid"))
		d.Expect(err).NotTo(HaveOccurred())
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		d.Expect(err).NotTo(HaveOccurred())
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
		user, err := strconv.Atoi(fields[12])
		d.Expect(err).NotTo(HaveOccurred())
		system, err := strconv.Atoi(fields[13])
		d.Expect(err).NotTo(HaveOccurred())
		used[program] = time.Duration(user+system) * 10 * time.Millisecond
	}
	return used
}
