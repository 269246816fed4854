package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/bedplate/bedplate/internal/mtls"
)

// Any client that reaches a port may connect, so all of them have limits.
const (
	portHeaderTime = 10 * time.Second // the handshake too
	portTime       = 30 * time.Second // the longest that an API server waits for a webhook's answer
	portIdle       = 90 * time.Second
	portHeaders    = 16 << 10 // bytes
	portShutdown   = time.Minute
	// portConnections is for probes and metrics, which have a few clients.
	portConnections = 64
)

func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: portHeaderTime, ReadTimeout: portTime, IdleTimeout: portIdle, MaxHeaderBytes: portHeaders,
	}
}

// ports serves a manager's probes and metrics as controller-runtime does, which doesn't bound the number of connections.
type ports struct {
	ctrl.Manager
	live, ready healthz.Handler
}

// AddHealthzCheck implements ctrl.Manager.
func (p *ports) AddHealthzCheck(name string, check healthz.Checker) error {
	p.live.Checks[name] = check
	return nil
}

// AddReadyzCheck implements ctrl.Manager.
func (p *ports) AddReadyzCheck(name string, check healthz.Checker) error {
	p.ready.Checks[name] = check
	return nil
}

// ports of a manager that serves none itself.
func (o *Options) ports(mgr ctrl.Manager) (ctrl.Manager, error) {
	p := &ports{mgr, healthz.Handler{Checks: map[string]healthz.Checker{}}, healthz.Handler{Checks: map[string]healthz.Checker{}}}
	return p, errors.Join(p.serveProbes(o.HealthAddress), p.serveMetrics(o.MetricsAddress, o.WebhookCertDir))
}

func (p *ports) serveProbes(address string) error {
	mux := http.NewServeMux()
	for path, handler := range map[string]http.Handler{"/healthz": &p.live, "/readyz": &p.ready} {
		mux.Handle(path, http.StripPrefix(path, handler))
		mux.Handle(path+"/", http.StripPrefix(path, handler)) // one check by its name
	}
	return p.serve("health probe", address, mux, nil)
}

// serveMetrics with the certificate of the webhooks, or one that it makes.
func (p *ports) serveMetrics(address, certificates string) error {
	filter, err := filters.WithAuthenticationAndAuthorization(p.GetConfig(), p.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make the filter of who may get metrics: %w", err)
	}
	handler, err := filter(p.GetLogger().WithName("metrics"), promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	if err != nil {
		return fmt.Errorf("filter who may get metrics: %w", err)
	}
	config, err := p.certificate(certificates)
	if err != nil {
		return fmt.Errorf("metrics' certificate: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	return p.serve("metrics", address, mux, config)
}

func (p *ports) certificate(folder string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	if folder != "" {
		watcher, err := certwatcher.New(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
		if err == nil {
			config.GetCertificate = watcher.GetCertificate
			return config, p.Add(watcher)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	public, private, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(public, private)
	config.Certificates = []tls.Certificate{pair}
	return config, err
}

// serve at an address, which 0 turns off.
func (p *ports) serve(name, address string, handler http.Handler, config *tls.Config) error {
	if address == "0" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for the %s: %w", name, err)
	}
	listener = mtls.NewPending(portConnections).Listen(listener)
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	return p.Add(&manager.Server{Name: name, Server: newServer(handler), Listener: listener, ShutdownTimeout: ptr.To(portShutdown)})
}
