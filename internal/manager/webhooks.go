package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/bedplate/bedplate/internal/mtls"
)

// The API server needs a few connections to the webhooks. Other clients that reach the port can open some too.
const webhookConnections = 256

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
	// What has come before the end is still answered.
	server.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	server.ConnContext = connected
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() { stopped <- shutdown(context.WithoutCancel(ctx), server) })
	s.started.Store(true)
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, GetCertificate: watcher.GetCertificate}
	err = server.Serve(tls.NewListener(mtls.NewPending(webhookConnections).Listen(listener), config))
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the webhooks: %w", err)
	}
	return <-stopped
}

// shutdown tells clients to disconnect, and returns when their requests are answered. An HTTP/2 connection whose handshake ends
// later is only told by the next call: net/http has a list of them, and reads it once in each.
func shutdown(ctx context.Context, server *http.Server) (err error) {
	ctx, cancel := context.WithTimeout(ctx, portShutdown)
	defer cancel()
	for ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, time.Second)
		err = server.Shutdown(once)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return err
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
