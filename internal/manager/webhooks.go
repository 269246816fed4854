package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/bedplate/bedplate/internal/evict"
	"github.com/bedplate/bedplate/internal/mtls"
)

// The API server needs a few connections to the webhooks. Other clients that reach the port can open some too.
const (
	webhookConnections = 256
	// webhookBody is more than the API server sends of one object, as it was and as it is to be. webhookRequests is what all
	// requests may weigh together that are under way: each as much as its headers may, and what has come of its body.
	webhookBody, webhookRequests = 4 << 20, 32 << 20 // bytes
)

// webhookServer is controller-runtime's, whose connections are bounded in number too, and their requests by what they weigh: of the
// address that has the most the oldest connection is closed, or the heaviest request ended. A client needs no certificate here.
type webhookServer struct {
	*webhook.DefaultServer
	options webhook.Options
	started atomic.Bool
}

func newWebhookServer(port int, certificates string) *webhookServer {
	options := webhook.Options{Port: port, CertDir: certificates, WebhookMux: http.NewServeMux()}
	return &webhookServer{DefaultServer: webhook.NewServer(options).(*webhook.DefaultServer), options: options}
}

func (s *webhookServer) address() string {
	return net.JoinHostPort(s.options.Host, strconv.Itoa(s.options.Port))
}

// Start implements webhook.Server.
func (s *webhookServer) Start(ctx context.Context) error {
	watcher, err := certwatcher.New(filepath.Join(s.options.CertDir, "tls.crt"), filepath.Join(s.options.CertDir, "tls.key"))
	if err != nil {
		return fmt.Errorf("read the webhooks' certificate: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address())
	if err != nil {
		return fmt.Errorf("listen for the webhooks: %w", err)
	}
	go func() {
		if err := watcher.Start(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "A renewed certificate of the webhooks won't be seen")
		}
	}()
	server := newServer(bounded(s.options.WebhookMux))
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), portShutdown)
		defer cancel()
		stopped <- server.Shutdown(ending)
	})
	s.started.Store(true)
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, GetCertificate: watcher.GetCertificate}
	err = server.Serve(tls.NewListener(mtls.NewPending(webhookConnections).Listen(listener), config))
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the webhooks: %w", err)
	}
	return <-stopped
}

// StartedChecker implements webhook.Server.
func (s *webhookServer) StartedChecker() healthz.Checker {
	return func(r *http.Request) error {
		if !s.started.Load() {
			return errors.New("the webhook server hasn't been started yet")
		}
		dialer := tls.Dialer{
			NetDialer: &net.Dialer{Timeout: portHeaderTime},
			Config:    &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // it is about whether it answers
		}
		connection, err := dialer.DialContext(r.Context(), "tcp", s.address())
		if err != nil {
			return fmt.Errorf("the webhook server can't be reached: %w", err)
		}
		return connection.Close()
	}
}

// bounded handles requests that weigh no more than webhookRequests together.
func bounded(handler http.Handler) http.Handler {
	all := evict.New[netip.Prefix](webhookRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := &body{ReadCloser: http.MaxBytesReader(w, r.Body, webhookBody)}
		b.weight = all.Add(from(r), portHeaders, func() { b.end(http.NewResponseController(w)) })
		defer b.handled()
		if b.surplus.Load() {
			http.Error(w, errWebhookRequests.Error(), http.StatusTooManyRequests)
			return
		}
		r.Body = b
		handler.ServeHTTP(w, r)
	})
}

// from is whose request it is.
func from(r *http.Request) netip.Prefix {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	return mtls.NetworkOf(net.TCPAddrFromAddrPort(address))
}

var errWebhookRequests = errors.New("the requests of this client are too many, or too large")

// body of a request, which weighs what has come of it until it is handled.
type body struct {
	io.ReadCloser
	weight  *evict.Entry[netip.Prefix]
	surplus atomic.Bool // it has to go
	mutex   sync.Mutex
	over    bool // it has been handled: what it was read by is another request's
}

// Read implements io.Reader.
func (b *body) Read(into []byte) (int, error) {
	if b.surplus.Load() {
		return 0, errWebhookRequests
	}
	n, err := b.ReadCloser.Read(into)
	b.weight.Grow(n)
	return n, err
}

// end reading, for which there may be nothing to come.
func (b *body) end(reading *http.ResponseController) {
	b.surplus.Store(true)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if !b.over {
		_ = reading.SetReadDeadline(time.Now())
	}
}

func (b *body) handled() {
	b.mutex.Lock()
	b.over = true
	b.mutex.Unlock()
	b.weight.Remove()
}
