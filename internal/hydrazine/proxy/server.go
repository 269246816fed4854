// Package proxy lets managers of bare metal without Kubernetes control Hydrazine, by gRPC. It keeps no state: every
// object is in the API server.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/mtls"
)

const (
	maxStreams = 250       // of one connection; what those of all weigh together is bounded too
	maxMessage = 128 << 10 // bytes, twice what admission lets an object have
	maxHeaders = 8 << 10   // bytes
	window     = 64 << 10  // bytes of a call that a client may send before anything reads them; gRPC's least
	bufferSize = 8 << 10   // bytes, of each connection
	// maxPending is how many connections there may be without a certificate. Normally that takes a few milliseconds.
	maxPending   = 1024
	gracefulStop = 4 * time.Second
	// handshakeTime is how long a client may take to show its certificate, and to begin to speak HTTP/2.
	handshakeTime = 5 * time.Second
	lookInterval  = 200 * time.Millisecond
)

// Server is the proxy.
type Server struct {
	config  Config
	server  *grpc.Server
	pending *mtls.Pending
	health  *health.Server
	feeds   []runner
	stop    context.CancelFunc // of watches
}

// runner is a feed, whatever its kind.
type runner interface {
	run(ctx context.Context)
	synced() bool
}

func (s *service[M]) synced() bool { return s.feed.Synced() }

// New makes a server for an API server's client, which has to pass on what it is asked at once, without a cache.
func New(
	config Config, c client.WithWatch, transport credentials.TransportCredentials, registry prometheus.Registerer,
) (*Server, error) {
	stopping, stop := context.WithCancel(context.Background())
	metrics, pending, limits := NewMetrics(), mtls.NewPending(maxPending), newLimits(&config)
	admission := &admission{Tenancy: &config.Tenancy, limits: limits, metrics: metrics}
	recover := recovery.WithRecoveryHandlerContext(recovered)
	s := &Server{config: config, stop: stop, pending: pending, health: health.NewServer(), server: grpc.NewServer(
		grpc.Creds(&framed{
			pending.Credentials(transport, &gate{tenancy: &config.Tenancy, limits: limits, metrics: metrics}), metrics,
		}),
		grpc.InTapHandle(admission.begin), grpc.ForceServerCodecV2(codec{}),
		grpc.StatsHandler(otelgrpc.NewServerHandler()),
		grpc.ChainUnaryInterceptor(metrics.unary, recovery.UnaryServerInterceptor(recover), admission.unary),
		grpc.ChainStreamInterceptor(metrics.stream, recovery.StreamServerInterceptor(recover), admission.stream),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders), grpc.MaxConcurrentStreams(maxStreams),
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(8*window),
		grpc.ReadBufferSize(bufferSize), grpc.WriteBufferSize(bufferSize),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: 30 * time.Second, Timeout: 10 * time.Second,
			MaxConnectionAge: longestWatch, MaxConnectionAgeGrace: longestWatch,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)}
	b := &backend{
		Tenancy: &config.Tenancy, client: c, limits: limits, metrics: metrics, stopping: stopping, createNamespaces: config.CreateNamespaces,
	}
	if err := s.register(b); err != nil {
		stop()
		return nil, err
	}
	if err := registry.Register(metrics); err != nil {
		stop()
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	return s, nil
}

func (s *Server) register(b *backend) error {
	groups, err1 := newService[*proxyv1.ResourceGroup](b, resourceGroupKind())
	resources, err2 := newService[*proxyv1.ManagedResource](b, managedResourceKind())
	ips, err3 := newService[*proxyv1.PublicIP](b, publicIPKind())
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	s.feeds = []runner{groups, resources, ips}
	proxyv1.RegisterResourceGroupsServer(s.server, resourceGroups{service: groups})
	proxyv1.RegisterManagedResourcesServer(s.server, managedResources{service: resources})
	proxyv1.RegisterPublicIPsServer(s.server, publicIPs{service: ips})
	grpc_health_v1.RegisterHealthServer(s.server, s.health)
	reflection.Register(s.server)
	return nil
}

// Ready reports whether everything can be answered.
func (s *Server) Ready(*http.Request) error {
	for _, feed := range s.feeds {
		if !feed.synced() {
			return errors.New("the objects aren't known yet")
		}
	}
	return nil
}

// NeedLeaderElection says that every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// Start serves until ctx ends, and a moment longer for calls that are under way.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Listen)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", s.config.Listen, err)
	}
	return s.Serve(ctx, listener)
}

// Serve is Start at a listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	var all errgroup.Group
	for _, feed := range s.feeds {
		all.Go(func() error { feed.run(ctx); return nil })
	}
	all.Go(func() error { s.reportHealth(ctx); return nil })
	all.Go(func() error {
		<-ctx.Done()
		s.health.Shutdown()
		s.stop()
		hard := time.AfterFunc(gracefulStop, s.server.Stop)
		defer hard.Stop()
		s.server.GracefulStop()
		return nil
	})
	klog.FromContext(ctx).Info("Serving", "address", listener.Addr().String())
	if err := s.server.Serve(s.pending.Listen(listener)); err != nil {
		return fmt.Errorf("serve at %s: %w", listener.Addr(), err)
	}
	return all.Wait()
}

// reportHealth until everything can be answered; what is known then stays known.
func (s *Server) reportHealth(ctx context.Context) {
	tell := func(status grpc_health_v1.HealthCheckResponse_ServingStatus) {
		for name := range s.server.GetServiceInfo() {
			s.health.SetServingStatus(name, status)
		}
		s.health.SetServingStatus("", status)
	}
	tell(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for s.Ready(nil) != nil {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
	tell(grpc_health_v1.HealthCheckResponse_SERVING)
}
