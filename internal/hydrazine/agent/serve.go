package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// The one client is a controller, perhaps with its replacement and a curious person beside it.
const (
	maxConnections, maxStreams, maxWatchers = 32, 32, 16
	maxMessage                              = 64 << 10 // bytes
	gracefulStop                            = 3 * time.Second
)

func (a *Agent) listen(ctx context.Context) (net.Listener, error) {
	if a.options.Listen == "" {
		return netutil.LimitListener(a.listenAtUplink(ctx), maxConnections), nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.options.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", a.options.Listen, err)
	}
	return netutil.LimitListener(listener, maxConnections), nil
}

// serve answers until ctx ends.
func (a *Agent) serve(ctx context.Context, listener net.Listener, creds credentials.TransportCredentials) error {
	g := grpc.NewServer(
		grpc.Creds(creds),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
	agentv1.RegisterAgentServer(g, &server{agent: a, watchers: make(chan struct{}, maxWatchers), stop: ctx.Done()})
	healthy := health.NewServer()
	grpc_health_v1.RegisterHealthServer(g, healthy)
	go a.reportHealth(ctx, healthy)

	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		healthy.Shutdown()
		hard := time.AfterFunc(gracefulStop, g.Stop)
		defer hard.Stop()
		g.GracefulStop()
	})
	slog.InfoContext(ctx, "Serving", "address", listener.Addr().String())
	if err := g.Serve(listener); err != nil {
		return fmt.Errorf("serve at %s: %w", listener.Addr(), err)
	}
	<-stopped
	return nil
}

// reportHealth says by gRPC's health service whether the agent can do anything at all: without Open vSwitch it can't.
func (a *Agent) reportHealth(ctx context.Context, healthy *health.Server) {
	for ctx.Err() == nil {
		news := a.news.wait()
		status := grpc_health_v1.HealthCheckResponse_NOT_SERVING
		if a.database.Connected() {
			status = grpc_health_v1.HealthCheckResponse_SERVING
		}
		for _, service := range []string{"", agentv1.Agent_ServiceDesc.ServiceName} {
			healthy.SetServingStatus(service, status)
		}
		select {
		case <-ctx.Done():
		case <-news:
		case <-time.After(lookInterval):
		}
	}
}
