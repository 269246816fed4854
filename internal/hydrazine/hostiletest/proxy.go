package hostiletest

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"time"

	"golang.org/x/net/http2"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/soaktest"
)

// Dial connects to the proxy.
type Dial func(ctx context.Context) (net.Conn, error)

// ToProxy is what a client does to the proxy until ctx ends, where config is a tenant's.
type ToProxy func(ctx context.Context, dial Dial, config *tls.Config, random *rand.Rand)

// rawly is a hostile client that speaks HTTP/2.
func rawly(settings []http2.Setting, do func(ctx context.Context, r *Raw, random *rand.Rand)) ToProxy {
	return func(ctx context.Context, dial Dial, config *tls.Config, random *rand.Rand) {
		if r, err := secured(ctx, dial, config, settings...); err == nil {
			do(ctx, r, random)
		}
	}
}

// NoWindow keeps the server from sending anything.
var NoWindow = []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}

// AgainstProxy is all that is tried.
var AgainstProxy = map[string]ToProxy{
	"silent": func(ctx context.Context, dial Dial, _ *tls.Config, random *rand.Rand) {
		if conn, err := dial(ctx); err == nil {
			Bother(ctx, conn, random)
		}
	},
	"without a certificate": func(ctx context.Context, dial Dial, config *tls.Config, _ *rand.Rand) {
		none := config.Clone()
		none.Certificates = nil
		_, _ = secured(ctx, dial, none)
	},
	"noise": rawly(nil, func(_ context.Context, r *Raw, random *rand.Rand) {
		data := noise(random, 1<<16)
		r.mutex.Lock()
		defer r.mutex.Unlock()
		_, _ = r.conn.Write(data)
	}),
	"unfinished": rawly(nil, func(_ context.Context, r *Raw, random *rand.Rand) {
		r.EachCall(1+random.IntN(100), "ResourceGroups/Create", func(stream uint32) {
			r.Send(stream, Unfinished(1<<10+random.IntN(128<<10)), 16<<10, false)
		})
	}),
	"in pieces": rawly(nil, func(_ context.Context, r *Raw, random *rand.Rand) {
		r.EachCall(1+random.IntN(10), "ResourceGroups/Create", func(stream uint32) {
			r.Send(stream, Unfinished(64<<10), 1+random.IntN(4), false)
		})
	}),
	"not taken": rawly(NoWindow, func(ctx context.Context, r *Raw, random *rand.Rand) {
		all := Message(&proxyv1.ListRequest{PageSize: 500})
		r.EachCall(1+random.IntN(100), "ResourceGroups/List", func(stream uint32) { r.Send(stream, all, len(all), true) })
		soaktest.Rest(ctx, time.Duration(random.IntN(5000))*time.Millisecond)
	}),
	"watches not taken": rawly(NoWindow, func(ctx context.Context, r *Raw, random *rand.Rand) {
		all := Message(&proxyv1.WatchRequest{})
		r.EachCall(1+random.IntN(100), "ResourceGroups/Watch", func(stream uint32) { r.Send(stream, all, len(all), true) })
		soaktest.Rest(ctx, time.Duration(random.IntN(20000))*time.Millisecond)
	}),
	"resets": rawly(nil, func(ctx context.Context, r *Raw, random *rand.Rand) {
		for range random.IntN(1000) {
			stream, ok := r.Open("ResourceGroups/List", "99999999H")
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
	"nonsense": rawly(nil, func(_ context.Context, r *Raw, random *rand.Rand) {
		r.EachCall(20, []string{"ResourceGroups/Create", "ResourceGroups/Nothing", "Nothing/Get", ""}[random.IntN(4)], func(stream uint32) {
			data := make([]byte, 5+random.IntN(1000))
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			r.Send(stream, data, len(data), true)
		})
	}),
}

func secured(ctx context.Context, dial Dial, config *tls.Config, settings ...http2.Setting) (*Raw, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	if config = config.Clone(); config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(conn.RemoteAddr().String())
	}
	return NewRaw(ctx, tls.Client(conn, config), settings...)
}

// Bother a TLS server with a connection that sends nothing, or a part of a handshake, or noise, and waits. It is closed
// then.
func Bother(ctx context.Context, conn net.Conn, random *rand.Rand) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	switch random.IntN(3) {
	case 0: // silent
	case 1:
		_, _ = conn.Write([]byte{22, 3, 1, 2, 0, 1}[:1+random.IntN(6)])
	case 2:
		_, _ = conn.Write(noise(random, 1<<16))
	}
	_, _ = conn.Read(make([]byte, 1))
}

func noise(random *rand.Rand, most int) []byte {
	all := make([]byte, random.IntN(most))
	for i := range all {
		all[i] = byte(random.Uint32())
	}
	return all
}
