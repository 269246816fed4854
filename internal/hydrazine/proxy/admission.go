package proxy

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
)

// callTimeout bounds a call, whatever deadline its client has.
const callTimeout = 30 * time.Second

// ours are the methods that are about tenants' objects. The others are health and reflection.
var ours = "/" + string(proxyv1.File_hydrazine_proxy_v1_common_proto.Package()) + "."

// admission stands before all methods, so that none can forget whose objects it may touch.
type admission struct {
	*Tenancy
	limits  *limits
	metrics *Metrics
}

// admit says whose objects a call is about, where it may be made.
func (a *admission) admit(ctx context.Context, method string, request any) (context.Context, error) {
	who, err := a.connected(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.limits.call(who); err != nil {
		a.metrics.refuse(refusedCalls)
		return nil, err
	}
	if !strings.HasPrefix(method, ours) {
		return ctx, nil
	}
	named, found := request.(interface{ GetTenant() string })
	if !found {
		return nil, status.Errorf(codes.Internal, "%s doesn't say whose objects it is about", method)
	}
	scope, err := a.scope(who, named.GetTenant())
	if err != nil && !who.operator {
		a.metrics.refuse(refusedTenant)
	}
	return context.WithValue(ctx, scopeKey{}, scope), err
}

func (a *admission) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ctx, err := a.admit(ctx, info.FullMethod, request)
	if err != nil {
		return nil, err
	}
	return handle(ctx, request)
}

func (a *admission) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	return handle(server, &admittedStream{ServerStream: stream, ctx: stream.Context(), admit: func(request any) (context.Context, error) {
		return a.admit(stream.Context(), info.FullMethod, request)
	}})
}

// admittedStream hands on requests that are admitted.
type admittedStream struct {
	grpc.ServerStream
	ctx   context.Context
	admit func(request any) (context.Context, error)
}

// Context implements grpc.ServerStream.
func (s *admittedStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream.
func (s *admittedStream) RecvMsg(request any) error {
	if err := s.ServerStream.RecvMsg(request); err != nil {
		return err
	}
	ctx, err := s.admit(request)
	if err == nil {
		s.ctx = ctx
	}
	return err
}

// recovered is what a client hears of a bug: one request must not end the service for everybody.
func recovered(ctx context.Context, panicked any) error {
	klog.FromContext(ctx).Error(fmt.Errorf("%v", panicked), "A call panicked", "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "a bug of the proxy; its log says more")
}
