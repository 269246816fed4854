package fabric_test

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

func TestReach_tellsSilenceFromErrors(t *testing.T) {
	t.Parallel()
	f := fabrictest.Up(t, fabric.Flat(1))
	_, err := f.Serve(fabric.DC, port)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(f.Cut(fabric.Internet, "eth0")).To(Succeed())

	at, parse := netip.AddrPortFrom, netip.MustParseAddrPort
	for name, test := range map[string]struct {
		from string
		to   netip.AddrPort
		want error
	}{
		"answer":                     {from: fabric.Control, to: at(dc, port)},
		"nobody has the address":     {from: fabric.Control, to: parse("172.18.0.250:7000"), want: probe.ErrNoAnswer},
		"nobody has it, over there":  {from: fabric.Control, to: parse("172.19.0.250:7000"), want: probe.ErrNoAnswer},
		"the fabric knows no way":    {from: fabric.Control, to: parse("192.0.2.1:7000"), want: probe.ErrNoAnswer},
		"the cable is cut":           {from: fabric.Control, to: at(internet, port), want: probe.ErrNoAnswer},
		"nobody listens":             {from: fabric.Control, to: at(dc, port+1), want: syscall.ECONNREFUSED},
		"the asker has no addresses": {from: "host1", to: at(dc, port), want: syscall.ENETUNREACH},
	} {
		for _, protocol := range []probe.Protocol{probe.ICMP, probe.UDP, probe.TCP} {
			if protocol == probe.ICMP && errors.Is(test.want, syscall.ECONNREFUSED) {
				continue // it has no ports
			}
			t.Run(name+" over "+string(protocol), func(t *testing.T) {
				t.Parallel()
				patience := time.Second
				if test.want == nil {
					patience = 30 * time.Second
				}
				_, err := f.Reach(t.Context(), probe.Probe{From: test.from, Protocol: protocol, To: test.to, Patience: patience})
				if test.want == nil {
					NewWithT(t).Expect(err).NotTo(HaveOccurred())
					return
				}
				NewWithT(t).Expect(err).To(MatchError(test.want))
			})
		}
	}
}

func TestReach_anImpatientCallerProvesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := fabrictest.Up(t, fabric.Flat(1))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, protocol := range []probe.Protocol{probe.ICMP, probe.UDP, probe.TCP} {
		_, err := f.Reach(ctx, probe.Probe{
			From: fabric.Control, Protocol: protocol, To: netip.MustParseAddrPort("172.18.0.250:1"), Patience: time.Minute,
		})
		g.Expect(err).To(MatchError(context.DeadlineExceeded))
		g.Expect(err).NotTo(MatchError(probe.ErrNoAnswer))
	}
}

// All that is sent while the cable is cut is lost, and nothing that is sent before or afterwards.
func TestStream_countsWhatACutCableLoses(t *testing.T) {
	t.Parallel()
	f := fabrictest.Up(t, fabric.Flat(1))
	_, err := f.Serve("dpu1", port)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, protocol := range []probe.Protocol{probe.ICMP, probe.UDP} {
		t.Run(string(protocol), func(t *testing.T) {
			g := NewWithT(t)
			stream, err := f.Stream(t.Context(), probe.Probe{
				From: fabric.Control, Protocol: protocol, To: netip.MustParseAddrPort("172.18.0.5:7000"), Patience: 5 * time.Second,
			})
			g.Expect(err).NotTo(HaveOccurred())
			reaches := func(count func() int, atLeast int) {
				g.Eventually(count).WithTimeout(30 * time.Second).Should(BeNumerically(">=", atLeast))
			}
			reaches(stream.Answered, 10)

			before := stream.Sent()
			g.Expect(f.Cut("dpu1", "p0")).To(Succeed())
			first := stream.Sent()
			reaches(stream.Sent, first+20)
			last := stream.Sent()
			g.Expect(f.Mend("dpu1", "p0")).To(Succeed())
			reaches(stream.Answered, stream.Answered()+5)
			after := stream.Sent()

			report, err := stream.Stop()
			g.Expect(err).NotTo(HaveOccurred())
			// At either end, one message may be between being counted and being sent.
			g.Expect(report.Lost).To(And(BeNumerically(">=", last-first-1), BeNumerically("<=", after-before+1)), report.String())
			g.Expect(report.LongestGap).To(BeNumerically(">=", 200*time.Millisecond), report.String()) // 20 messages
			g.Expect(report.Duplicates).To(BeZero())
			if protocol == probe.UDP {
				g.Expect(report.Sources).To(HaveExactElements(control))
			}
		})
	}
}

func TestStream_overTCPNothingIsLostButLate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := fabrictest.Up(t, fabric.Flat(1))
	_, err := f.Serve(fabric.DC, port)
	g.Expect(err).NotTo(HaveOccurred())
	stream, err := f.Stream(t.Context(), probe.Probe{
		From: "dpu1", Protocol: probe.TCP, To: netip.AddrPortFrom(dc, port), Patience: 30 * time.Second,
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(stream.Answered).WithTimeout(30 * time.Second).Should(BeNumerically(">=", 10))

	g.Expect(f.Cut("dpu1", "p0")).To(Succeed())
	from, since := stream.Sent(), time.Now()
	g.Eventually(stream.Sent).WithTimeout(30 * time.Second).Should(BeNumerically(">=", from+20))
	cut := time.Since(since)
	g.Expect(f.Mend("dpu1", "p0")).To(Succeed())

	report, err := stream.Stop()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Lost).To(BeZero(), report.String())
	g.Expect(report.Slowest).To(BeNumerically(">", cut/2), report.String())
}

// A raw socket gets the answers to everybody's pings.
func TestStream_knowsItsOwnPings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := fabrictest.Up(t, fabric.Flat(1))
	var streams []*probe.Stream
	for range 2 {
		stream, err := f.Stream(t.Context(), probe.Probe{
			From: "dpu1", Protocol: probe.ICMP, To: netip.AddrPortFrom(dc, 0), Patience: 10 * time.Second,
		})
		g.Expect(err).NotTo(HaveOccurred())
		streams = append(streams, stream)
	}
	for _, stream := range streams {
		g.Eventually(stream.Answered).WithTimeout(30 * time.Second).Should(BeNumerically(">=", 20))
	}
	for _, stream := range streams {
		report, err := stream.Stop()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(report).To(And(HaveField("Lost", 0), HaveField("Duplicates", 0)))
	}
}

func TestServer_countsWhatArrivesWithoutAWayBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := fabrictest.Up(t, fabric.Flat(1))
	server, err := f.Serve(fabric.DC, port)
	g.Expect(err).NotTo(HaveOccurred())
	// The fabric sends what is for the DPU nowhere.
	dpu, nobody := netip.MustParsePrefix("172.18.0.5/32"), netip.MustParseAddr("198.51.100.200")
	g.Expect(f.AddRoute(fabric.Router, dpu, nobody)).To(Succeed())

	_, err = f.Reach(t.Context(), probe.Probe{From: "dpu1", Protocol: probe.UDP, To: netip.AddrPortFrom(dc, port)})
	g.Expect(err).To(MatchError(probe.ErrNoAnswer))
	g.Expect(server.Received()).NotTo(BeZero())
}
