package main

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/hostiletest"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/mtls"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// bother the agent once, from another machine of the fabric, without a certificate or with a wrong one.
func (d *dpu) bother(ctx context.Context, random *rand.Rand, wrong mtls.Files) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	connection, err := d.connect(ctx)
	if err != nil {
		return
	}
	if random.IntN(4) > 0 {
		hostiletest.Bother(ctx, connection, random)
		return
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	if creds, err := wrong.Client(ctx, nil); err == nil { // another's certificate
		if secured, _, err := creds.ClientHandshake(ctx, d.ip, connection); err == nil {
			_, _ = secured.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
			_, _ = secured.Read(make([]byte, 1))
		}
	}
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
		soaktest.Rest(ctx, 100*time.Millisecond)
	}
	return took
}

// TestHostile_soak has clients without the manager's certificate beside the manager, for as long as BEDPLATE_HOSTILE says, such as
// 1h, with the seed in BEDPLATE_SEED, or any. The agent's memory stays bounded, and leases are renewed; how much slower than
// before is in the log.
func TestHostile_soak(t *testing.T) { //nolint:paralleltest // it measures
	const growth = 30 // MB
	last, seed := soaktest.Options(t, 0)
	d, ca, _, manager := secured(t)
	wrong := d.certified(ca, pki.Leaf{CommonName: "dpu2"})

	ctx, cancel := context.WithTimeout(t.Context(), min(last/4, time.Minute))
	alone := d.renewals(ctx, manager)
	cancel()
	before, _ := processtest.Memory(t, d.agent.PID())
	ctx, cancel = context.WithTimeout(t.Context(), last)
	defer cancel()
	var all sync.WaitGroup
	for n := range 200 {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		all.Go(func() {
			for ctx.Err() == nil {
				d.bother(ctx, random, wrong)
				soaktest.Rest(ctx, time.Duration(random.IntN(5000))*time.Millisecond)
			}
		})
	}
	beside := d.renewals(ctx, manager)
	all.Wait()
	soaktest.Compare(t, alone, beside)
	_, peak := processtest.Memory(t, d.agent.PID())
	t.Logf("%.0f MB before, %.0f MB at the most", before, peak)
	d.Expect(peak-before).To(BeNumerically("<", growth), "seed %d", seed)
	log, err := os.Stat(d.dir + "/agent.log")
	d.Expect(err).NotTo(HaveOccurred())
	t.Logf("the log has %d KiB", log.Size()>>10)
	d.Expect(log.Size()).To(BeNumerically("<", 20<<10+int64(last.Seconds())<<10), "seed %d", seed)
}
