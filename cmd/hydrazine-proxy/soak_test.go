package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"

	"github.com/bedplate/bedplate/api/hydrazine/proxy/client"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// hostile is what a client does to the proxy until ctx ends.
type hostile func(ctx context.Context, p *program, config *tls.Config, random *rand.Rand)

// rawly is a hostile client that speaks HTTP/2.
func rawly(settings []http2.Setting, do func(ctx context.Context, r *raw, random *rand.Rand)) hostile {
	return func(ctx context.Context, p *program, config *tls.Config, random *rand.Rand) {
		if r, err := p.raw(ctx, config, settings...); err == nil {
			do(ctx, r, random)
		}
	}
}

// noWindow keeps the server from sending anything.
var noWindow = []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}

var hostiles = map[string]hostile{
	"silent": func(ctx context.Context, p *program, _ *tls.Config, random *rand.Rand) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
		if err != nil {
			return
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		_, _ = conn.Write([]byte{22, 3, 1, 2, 0, 1}[:random.IntN(7)])
		_, _ = conn.Read(make([]byte, 1))
	},
	"without a certificate": func(ctx context.Context, p *program, config *tls.Config, _ *rand.Rand) {
		none := config.Clone()
		none.Certificates = nil
		_, _ = p.raw(ctx, none)
	},
	"noise": rawly(nil, func(_ context.Context, r *raw, random *rand.Rand) {
		noise := make([]byte, random.IntN(1<<16))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		r.mutex.Lock()
		defer r.mutex.Unlock()
		_, _ = r.conn.Write(noise)
	}),
	"unfinished": rawly(nil, func(_ context.Context, r *raw, random *rand.Rand) {
		r.eachCall(1+random.IntN(100), "ResourceGroups/Create", func(stream uint32) {
			r.send(stream, unfinished(1<<10+random.IntN(128<<10)), 16<<10, false)
		})
	}),
	"in pieces": rawly(nil, func(_ context.Context, r *raw, random *rand.Rand) {
		r.eachCall(1+random.IntN(10), "ResourceGroups/Create", func(stream uint32) {
			r.send(stream, unfinished(64<<10), 1+random.IntN(4), false)
		})
	}),
	"not taken": rawly(noWindow, func(ctx context.Context, r *raw, random *rand.Rand) {
		all := message(&proxyv1.ListRequest{PageSize: 500})
		r.eachCall(1+random.IntN(100), "ResourceGroups/List", func(stream uint32) { r.send(stream, all, len(all), true) })
		soaktest.Rest(ctx, time.Duration(random.IntN(5000))*time.Millisecond)
	}),
	"watches not taken": rawly(noWindow, func(ctx context.Context, r *raw, random *rand.Rand) {
		all := message(&proxyv1.WatchRequest{})
		r.eachCall(1+random.IntN(100), "ResourceGroups/Watch", func(stream uint32) { r.send(stream, all, len(all), true) })
		soaktest.Rest(ctx, time.Duration(random.IntN(20000))*time.Millisecond)
	}),
	"resets": rawly(nil, func(ctx context.Context, r *raw, random *rand.Rand) {
		for range random.IntN(1000) {
			stream, ok := r.open("ResourceGroups/List", "99999999H")
			if !ok || ctx.Err() != nil {
				return
			}
			r.mutex.Lock()
			_ = r.framer.WriteRSTStream(stream, http2.ErrCodeCancel)
			_ = r.out.Flush()
			delete(r.window, stream)
			r.mutex.Unlock()
		}
	}),
	"nonsense": rawly(nil, func(_ context.Context, r *raw, random *rand.Rand) {
		r.eachCall(20, []string{"ResourceGroups/Create", "ResourceGroups/Nothing", "Nothing/Get", ""}[random.IntN(4)], func(stream uint32) {
			data := make([]byte, 5+random.IntN(1000))
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			r.send(stream, data, len(data), true)
		})
	}),
}

// normal is what an honest client does: it makes a host, looks at it, and takes it away. It returns how long each took.
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
	names := slices.Sorted(maps.Keys(hostiles))
	ctx, cancel = context.WithTimeout(t.Context(), last)
	defer cancel()
	var all sync.WaitGroup
	for n := range 16 {
		config, random := p.tenant(fmt.Sprintf("hostile%d", n%8)), rand.New(rand.NewPCG(seed, uint64(n)))
		all.Go(func() {
			for ctx.Err() == nil {
				once, cancel := context.WithTimeout(ctx, 30*time.Second)
				hostiles[names[random.IntN(len(names))]](once, p, config, random)
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
