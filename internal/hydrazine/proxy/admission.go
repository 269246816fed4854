package proxy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/evict"
)

// callTimeout bounds a call, whatever deadline its client has.
const callTimeout = 30 * time.Second

// ours are the methods that are about tenants' objects. The others are health and reflection.
var ours = "/" + string(proxyv1.File_hydrazine_proxy_v1_common_proto.Package()) + "."

// admission runs before all methods, so that none can forget whose objects it may touch.
type admission struct {
	*Tenancy
	limits  *limits
	metrics *Metrics
}

const (
	// receiveTime is how long a message may take to come after the headers of its call.
	receiveTime = 10 * time.Second
	// unreadWeight is that of a call until its message has come: that of the largest one.
	unreadWeight = callWeight + maxMessage + window
)

// errSurplus means that a call was ended because all calls together take too much memory, and those of its tenant the
// most.
var errSurplus = errors.New("the tenant's calls are too many, or too large")

// call is one whose headers have come.
type call struct {
	*session
	caller
	refused error
	open    context.Context // ends with the call
	weight  *evict.Entry[string]
	weighs  int         // now
	late    *time.Timer // ends it
	heard   int         // messages
}

type callKey struct{}

// begin is a tap.ServerInHandle: gRPC calls it when the headers of a call have come, and nothing of its message is in memory.
//
// Of a call that is refused here and has a deadline, gRPC keeps a timer until that deadline. So such a call is refused only when its
// message has come.
func (a *admission) begin(ctx context.Context, _ *tap.Info) (context.Context, error) {
	session, who, err := a.connected(ctx)
	if err == nil {
		if err = a.limits.call(who); err != nil {
			a.metrics.refuse(refusedCalls)
			if !a.limits.refuse(who) {
				_ = session.raw.Close()
			}
		}
	}
	if _, limited := ctx.Deadline(); err != nil && (!limited || session == nil) {
		return ctx, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{session: session, caller: who, refused: err, weighs: unreadWeight, open: ctx}
	c.weight = a.limits.requests.Add(who.organization, c.weighs, func() {
		a.metrics.refuse(refusedRequests)
		cancel(errSurplus)
	})
	c.late = time.AfterFunc(receiveTime, func() {
		a.metrics.refuse(refusedSlow)
		cancel(context.DeadlineExceeded)
	})
	context.AfterFunc(ctx, func() {
		c.late.Stop()
		c.weight.Remove()
	})
	return context.WithValue(ctx, callKey{}, c), nil
}

// received the whole message.
func (c *call) received(message any) (size int) {
	c.late.Stop()
	if m, is := message.(proto.Message); is {
		size = proto.Size(m)
	}
	c.weigh(callWeight + decoded*size)
	return size
}

// finally is called when the call has been answered, or has ended otherwise.
func (c *call) finally(do func()) { context.AfterFunc(c.open, do) }

// awaits another message of the same call.
func (c *call) awaits() {
	c.weigh(unreadWeight)
	c.late.Reset(receiveTime)
}

func (c *call) weigh(now int) {
	c.weight.Grow(now - c.weighs)
	c.weighs = now
}

// admit returns whose objects a call is about, if it may be made.
func (a *admission) admit(ctx context.Context, c *call, method string, request any) (context.Context, error) {
	size := c.received(request)
	if c.refused != nil {
		return nil, c.refused
	}
	if c.heard++; c.heard > 1 { // as those of reflection, of which one call takes any number
		if err := a.limits.call(c.caller); err != nil {
			a.metrics.refuse(refusedCalls)
			return nil, err
		}
	}
	if !strings.HasPrefix(method, ours) {
		return ctx, nil
	}
	if strings.HasSuffix(method, "/Create") || strings.HasSuffix(method, "/Update") {
		if err := a.limits.write(c.caller, size); err != nil {
			a.metrics.refuse(refusedBytes)
			return nil, err
		}
	}
	named, found := request.(interface{ GetTenant() string })
	if !found {
		return nil, status.Errorf(codes.Internal, "%s doesn't say whose objects it is about", method)
	}
	scope, err := a.scope(c.caller, named.GetTenant())
	if err != nil && !c.operator {
		a.metrics.refuse(refusedTenant)
	}
	return context.WithValue(ctx, scopeKey{}, scope), err
}

// plain makes the answers of a call be sent as they are, whatever their client asks for: what gRPC compresses is a copy that it
// keeps instead of the one that counts, and takes the proxy's time.
func plain(ctx context.Context) {
	_ = grpc.SetSendCompressor(ctx, encoding.Identity) // it fails only if the client is gone
}

func (a *admission) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	plain(ctx)
	c := ctx.Value(callKey{}).(*call)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ctx, err := a.admit(ctx, c, info.FullMethod, request)
	if err != nil {
		return nil, err
	}
	message, err := handle(ctx, request)
	if err != nil {
		return nil, err
	}
	return &answer{message: message, to: c.session, window: window}, nil
}

func (a *admission) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	plain(stream.Context())
	c := stream.Context().Value(callKey{}).(*call)
	return handle(server, &admittedStream{ServerStream: stream, ctx: stream.Context(), call: c, admit: func(request any) (context.Context, error) {
		return a.admit(stream.Context(), c, info.FullMethod, request)
	}})
}

// admittedStream hands on requests that are admitted.
type admittedStream struct {
	grpc.ServerStream
	*call
	ctx   context.Context
	admit func(request any) (context.Context, error)
	again bool // there has been a message
}

// Context implements grpc.ServerStream.
func (s *admittedStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream.
func (s *admittedStream) RecvMsg(request any) error {
	if s.again {
		s.awaits()
	}
	s.again = true
	if err := s.ServerStream.RecvMsg(request); err != nil {
		return err
	}
	ctx, err := s.admit(request)
	if err == nil {
		s.ctx = ctx
	}
	return err
}

// SendMsg implements grpc.ServerStream.
func (s *admittedStream) SendMsg(message any) error {
	return s.ServerStream.SendMsg(&answer{message: message, to: s.session})
}

// recovered is a client's error after a bug: one request must not end the service for all.
func recovered(ctx context.Context, panicked any) error {
	klog.FromContext(ctx).Error(fmt.Errorf("%v", panicked), "A call panicked", "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "internal error of the proxy; see its log")
}
