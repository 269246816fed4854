package ovn_test

import (
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// A DPU joins a site of a thousand, or leaves it: each of the 100 groups of 10 DPUs has to hear of it, in a database of its own. This is
// what one of them does: bytes that the manager sends and gets, and what the database writes onto its disk.
func BenchmarkApply_oneDPUMoreAmongAThousand(b *testing.B) {
	g, c := NewWithT(b), newCentral(b)
	var sent, received atomic.Int64
	n, err := ovn.DialNorthbound(b.Context(), metered(b, c, "nb", &sent, &received), nil)
	g.Expect(err).NotTo(HaveOccurred())
	b.Cleanup(n.Close)
	const dpus = 1000
	var underlay []netip.Addr
	for i := range dpus + 1 {
		underlay = append(underlay, netip.AddrFrom4([4]byte{172, 18, byte(4 + i/200), byte(1 + i%200)}))
	}
	at := func(number int) *topology.Topology {
		all, err := topology.New(blue, members(2, 11), topology.Site{Underlay: underlay[:number]})
		g.Expect(err).NotTo(HaveOccurred())
		return all
	}
	less, more := at(dpus), at(dpus+1)
	apply(b, n, less)
	disk := func() int64 {
		info, err := os.Stat(c.path("nb.db"))
		g.Expect(err).NotTo(HaveOccurred())
		return info.Size()
	}
	before := disk()
	sent.Store(0)
	received.Store(0)
	operations := 0
	for i := 0; b.Loop(); i++ {
		operations += apply(b, n, []*topology.Topology{more, less}[i%2])
	}
	for unit, total := range map[string]int64{
		"sent-B/op": sent.Load(), "received-B/op": received.Load(), "disk-B/op": disk() - before, "operations/op": int64(operations),
	} {
		b.ReportMetric(float64(total)/float64(b.N), unit)
	}
}

// metered is an endpoint of a database that counts what is said there.
func metered(t testing.TB, c *central, name string, sent, received *atomic.Int64) string {
	t.Helper()
	g := NewWithT(t)
	listener, err := net.Listen("unix", c.path("metered.sock"))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", strings.TrimPrefix(c.endpoint(name), "unix:"))
			if err != nil {
				near.Close()
				continue
			}
			go pass(far, near, sent)
			go pass(near, far, received)
		}
	}()
	return "unix:" + c.path("metered.sock")
}

func pass(to io.WriteCloser, from io.Reader, count *atomic.Int64) {
	defer to.Close()
	_, _ = io.Copy(io.MultiWriter(to, counter{count}), from)
}

type counter struct{ *atomic.Int64 }

func (c counter) Write(data []byte) (int, error) {
	c.Add(int64(len(data)))
	return len(data), nil
}
