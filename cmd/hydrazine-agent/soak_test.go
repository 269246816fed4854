package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/mtls"
)

// field of the agent's process' status, in MB.
func (d *dpu) status(field string) float64 {
	d.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.agent.PID()))
	d.Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == field {
			kilobytes, err := strconv.Atoi(fields[1])
			d.Expect(err).NotTo(HaveOccurred())
			return float64(kilobytes) / 1000
		}
	}
	return 0
}

// bother the agent once, as somebody on the fabric who has no certificate, or a wrong one.
func (d *dpu) bother(ctx context.Context, random *rand.Rand, wrong mtls.Files) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	dial := func(ctx context.Context, address string) (connection net.Conn, err error) {
		err = d.fabric.Do(centralNode, func() error {
			connection, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return err
		})
		return connection, err
	}
	connection, err := dial(ctx, d.ip+":9660")
	if err != nil {
		return
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	switch random.IntN(4) {
	case 0: // silent
	case 1: // a part of a handshake
		_, _ = connection.Write([]byte{22, 3, 1, 2, 0, 1}[:1+random.IntN(6)])
	case 2: // noise
		noise := make([]byte, random.IntN(1<<16))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		_, _ = connection.Write(noise)
	case 3: // another's certificate
		if creds, err := wrong.Client(ctx, nil); err == nil {
			if secured, _, err := creds.ClientHandshake(ctx, d.ip, connection); err == nil {
				_, _ = secured.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
				_, _ = secured.Read(make([]byte, 1))
			}
		}
		return
	}
	_, _ = connection.Read(make([]byte, 1))
}

// renewals of a lease, each by a new connection, and how long they take.
func (d *dpu) renewals(ctx context.Context, manager mtls.Files) (took []time.Duration) {
	d.Helper()
	for ctx.Err() == nil {
		began := time.Now()
		d.client = d.as(manager)
		_, err := d.attach(fabric.Port(0), "h2", time.Hour)
		d.Expect(err).NotTo(HaveOccurred())
		took = append(took, time.Since(began))
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	slices.Sort(took)
	return took
}

// TestHostile_soak has clients without the manager's certificate beside the manager, for as long as BEDPLATE_HOSTILE says, such as
// 1h, with the seed in BEDPLATE_SEED, or any. The agent's memory stays bounded, and leases are renewed; how much slower than
// before is in the log.
func TestHostile_soak(t *testing.T) { //nolint:paralleltest // it measures
	text := os.Getenv("BEDPLATE_HOSTILE")
	if text == "" {
		t.Skip("BEDPLATE_HOSTILE isn't set")
	}
	const growth = 30 // MB
	d, seed := newWorld(t, hostsBehind(1, 1, 2)).dpu(1), rand.Uint64()
	last, err := time.ParseDuration(text)
	d.Expect(err).NotTo(HaveOccurred())
	if text := os.Getenv("BEDPLATE_SEED"); text != "" {
		_, err := fmt.Sscan(text, &seed)
		d.Expect(err).NotTo(HaveOccurred())
	}
	t.Logf("seed %d", seed)
	ca, err := pki.NewAuthority("ca")
	d.Expect(err).NotTo(HaveOccurred())
	own := d.certified(ca, pki.Leaf{CommonName: "dpu1", IPs: []net.IP{net.ParseIP(d.ip)}})
	d.launchAgent("--insecure=false", "--tls-cert-file="+own.Certificate, "--tls-private-key-file="+own.Key, "--tls-ca-file="+own.Authorities)
	manager, wrong := d.certified(ca, pki.Leaf{CommonName: "hydrazine-manager"}), d.certified(ca, pki.Leaf{CommonName: "dpu2"})
	d.client = d.as(manager)
	d.Eventually(func() []string { return d.report().GetUplink().GetAddresses() }).WithTimeout(patience).ShouldNot(BeEmpty())

	ctx, cancel := context.WithTimeout(t.Context(), min(last/4, time.Minute))
	alone := d.renewals(ctx, manager)
	cancel()
	before := d.status("VmRSS:")
	ctx, cancel = context.WithTimeout(t.Context(), last)
	defer cancel()
	var all sync.WaitGroup
	for n := range 200 {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		all.Go(func() {
			for ctx.Err() == nil {
				d.bother(ctx, random, wrong)
				select {
				case <-ctx.Done():
				case <-time.After(time.Duration(random.IntN(5000)) * time.Millisecond):
				}
			}
		})
	}
	beside := d.renewals(ctx, manager)
	all.Wait()
	half, most := func(d []time.Duration) time.Duration { return d[len(d)/2] }, func(d []time.Duration) time.Duration { return d[len(d)*99/100] }
	t.Logf("alone %s (99 %%: %s), beside hostile clients %s (99 %%: %s): %.2f times; %d and %d renewals", half(alone), most(alone),
		half(beside), most(beside), float64(half(beside))/float64(half(alone)), len(alone), len(beside))
	t.Logf("%.0f MB before, %.0f MB at the most", before, d.status("VmHWM:"))
	d.Expect(d.status("VmHWM:")-before).To(BeNumerically("<", growth), "seed %d", seed)
	log, err := os.Stat(d.dir + "/agent.log")
	d.Expect(err).NotTo(HaveOccurred())
	t.Logf("the log has %d KiB", log.Size()>>10)
	d.Expect(log.Size()).To(BeNumerically("<", 20<<10+int64(last.Seconds())<<10), "seed %d", seed)
}
