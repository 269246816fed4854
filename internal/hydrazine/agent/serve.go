package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/evict"
	"github.com/bedplate/bedplate/internal/mtls"
)

// The one client is a controller, perhaps with its replacement and a user who debugs.
const (
	maxConnections, maxStreams, maxWatchers = 32, 32, 16
	maxMessage, maxHeaders                  = 64 << 10, 8 << 10 // bytes
	gracefulStop                            = 3 * time.Second
	// maxPending is how many connections there may be whose clients haven't shown the controller's certificate, and handshakeTime
	// how long they may take.
	maxPending    = 128
	handshakeTime = 5 * time.Second
	// bufferSize of a connection, in bytes: a DPU's memory belongs to the network.
	bufferSize = 4 << 10
)

func (a *Agent) listen(ctx context.Context) (net.Listener, error) {
	if a.options.Listen == "" {
		return a.listenAtUplink(ctx), nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.options.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", a.options.Listen, err)
	}
	return listener, nil
}

// gate for connections that have shown the controller's certificate. All of them are the controller's, so a new one is accepted and
// the oldest is closed. In plaintext they may be other clients' too, and a client with too many loses its own.
type gate struct{ connections *evict.Set[netip.Prefix] }

// Admit implements mtls.Gate.
func (g gate) Admit(raw net.Conn, info credentials.AuthInfo) (credentials.AuthInfo, func(), error) {
	entry := g.connections.Add(mtls.NetworkOf(raw.RemoteAddr()), 1, func() { _ = raw.Close() })
	return info, entry.Remove, nil
}

// Refused implements mtls.Gate. The log says it.
func (g gate) Refused(error) {}

// serve answers until ctx ends.
func (a *Agent) serve(ctx context.Context, listener net.Listener, creds credentials.TransportCredentials) error {
	pending := mtls.NewPending(maxPending)
	g := grpc.NewServer(
		grpc.Creds(pending.Credentials(creds, gate{evict.New[netip.Prefix](maxConnections)})),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders), grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeTime), grpc.StaticStreamWindowSize(maxMessage), grpc.StaticConnWindowSize(4*maxMessage),
		grpc.ReadBufferSize(bufferSize), grpc.WriteBufferSize(bufferSize),
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
	if err := g.Serve(pending.Listen(listener)); err != nil {
		return fmt.Errorf("serve at %s: %w", listener.Addr(), err)
	}
	<-stopped
	return nil
}

// reportHealth reports by gRPC's health service whether the agent can work: without Open vSwitch it can't.
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
