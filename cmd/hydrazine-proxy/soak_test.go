package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/hostiletest"
	"github.com/bedplate/bedplate/internal/soaktest"
)

func (p *program) connect(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
}

// normal is what a normal client does: it creates a host, reads it, and deletes it. It returns how long each took.
func (p *program) normal(ctx context.Context, c *client.Client) (took []time.Duration) {
	for n := 0; ctx.Err() == nil; n++ {
		name, began := fmt.Sprintf("host%d", n), time.Now()
		_, err := c.ManagedResources.Create(context.Background(), &proxyv1.CreateManagedResourceRequest{Name: name, Spec: &proxyv1.ManagedResourceSpec{
			ResourceGroup: "web", HostIp: "10.10.10.2", HostMac: "02:00:0a:0a:0a:02", DpuIps: []string{"172.18.0.5"},
		}})
		p.Expect(err).NotTo(HaveOccurred())
		_, err = c.ManagedResources.Get(context.Background(), &proxyv1.GetRequest{Name: name})
		p.Expect(err).NotTo(HaveOccurred())
		_, err = c.ManagedResources.Delete(context.Background(), &proxyv1.DeleteRequest{Name: name})
		p.Expect(err).NotTo(HaveOccurred())
		took = append(took, time.Since(began))
		soaktest.Rest(ctx, 100*time.Millisecond)
	}
	return took
}

// TestHostile_soak has hostile clients of all kinds beside a normal one, for as long as BEDPLATE_HOSTILE says, such as 1h, with
// the seed in BEDPLATE_SEED, or any. The proxy's memory stays bounded, and the normal client is served; how much slower than
// before is in the log, as the hostile ones take their part of the same machine.
func TestHostile_soak(t *testing.T) { //nolint:paralleltest // it measures
	last, seed := soaktest.Options(t, 0)
	p := start(t)
	p.fill("hostile0", 30)
	c := p.as("honest")
	ctx, cancel := context.WithTimeout(t.Context(), min(last/4, time.Minute))
	alone := p.normal(ctx, c)
	cancel()

	p.forget()
	before := p.memory()
	names := slices.Sorted(maps.Keys(hostiletest.AgainstProxy))
	ctx, cancel = context.WithTimeout(t.Context(), last)
	defer cancel()
	var all sync.WaitGroup
	for n := range 16 {
		config, random := p.tenant(fmt.Sprintf("hostile%d", n%8)), rand.New(rand.NewPCG(seed, uint64(n)))
		all.Go(func() {
			for ctx.Err() == nil {
				once, cancel := context.WithTimeout(ctx, 30*time.Second)
				hostiletest.AgainstProxy[names[random.IntN(len(names))]](once, p.connect, config, random)
				cancel()
				soaktest.Rest(ctx, time.Duration(random.IntN(200))*time.Millisecond)
			}
		})
	}
	beside := p.normal(ctx, c)
	all.Wait()
	soaktest.Compare(t, alone, beside)
	t.Logf("%.0f MB before, %.0f MB at the most, %.0f MB after", before, p.peak(), p.memory())
	p.Expect(p.peak()-before).To(BeNumerically("<", mostGrowth), "seed %d", seed)
}
