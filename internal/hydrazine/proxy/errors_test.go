package proxy

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
)

// Whatever the API server answers, the code is the one that clients act upon, and nothing of the answer is sent that isn't
// about the client's own fields.
func TestTranslate_isForTheClient(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	groups := schema.GroupResource{Group: "resource.bedplate.dev", Resource: "resourcegroups"}
	forbidden := func(text string) error { return apierrors.NewForbidden(groups, secret, errors.New(text)) }
	for name, c := range map[string]struct {
		err   error
		code  codes.Code
		retry time.Duration
	}{
		"not found":       {apierrors.NewNotFound(groups, secret), codes.NotFound, 0},
		"conflict":        {apierrors.NewConflict(groups, secret, errors.New(secret)), codes.Aborted, 0},
		"RBAC":            {forbidden("User " + secret + " cannot"), codes.PermissionDenied, 0},
		"quota":           {forbidden("exceeded quota: " + secret), codes.ResourceExhausted, 0},
		"too many":        {apierrors.NewTooManyRequests(secret, 7), codes.Unavailable, 7 * time.Second},
		"server timeout":  {apierrors.NewServerTimeout(groups, "create", 3), codes.Unavailable, 3 * time.Second},
		"timeout":         {apierrors.NewTimeoutError(secret, 0), codes.Unavailable, time.Second},
		"away":            {apierrors.NewServiceUnavailable(secret), codes.Unavailable, time.Second},
		"a webhook fails": {apierrors.NewInternalError(errors.New("failed calling webhook " + secret)), codes.Unavailable, time.Second},
		"no connection":   {errors.New("dial tcp " + secret), codes.Unavailable, time.Second},
		"too large":       {apierrors.NewRequestEntityTooLargeError(secret), codes.InvalidArgument, 0},
		"bad request":     {apierrors.NewBadRequest(secret), codes.Internal, 0},
		"not allowed":     {apierrors.NewMethodNotSupported(groups, secret), codes.Internal, 0},
		"unauthorized":    {apierrors.NewUnauthorized(secret), codes.Internal, 0},
		"a teapot":        {apierrors.NewGenericServerResponse(http.StatusTeapot, "get", groups, secret, secret, 0, true), codes.Internal, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			translated := translate(t.Context(), c.err, "ResourceGroup blue", func(path string) string { return path })
			s := status.Convert(translated)
			g.Expect(s.Code()).To(Equal(c.code))
			g.Expect(s.Proto().String()).NotTo(ContainSubstring(secret))
			g.Expect(s.Message()).To(HavePrefix("ResourceGroup blue: "))
			for _, d := range s.Details() {
				if info, is := d.(*errdetails.RetryInfo); is {
					g.Expect(info.GetRetryDelay().AsDuration()).To(Equal(c.retry))
					c.retry = 0
				}
			}
			g.Expect(c.retry).To(BeZero(), "there is a RetryInfo")
		})
	}
}

func TestTranslate_namesFields(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ResourceGroup"}, "blue", field.ErrorList{
		field.Required(field.NewPath("spec", "hostIP"), "write it"), field.Invalid(field.NewPath("spec", "hostMAC"), "x", "write it better"),
	})
	err := translate(t.Context(), invalid, "ResourceGroup blue", func(path string) string { return "my." + path })
	g.Expect(err).To(MatchError(ContainSubstring(
		`ResourceGroup blue: my.spec.hostIP: Required value: write it; my.spec.hostMAC: Invalid value: "x": write it better`)))
	g.Expect(status.Convert(err).Details()[0].(*errdetails.BadRequest).GetFieldViolations()).To(HaveLen(2))
}

func TestTranslate_knowsWhenTheClientIsGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	NewWithT(t).Expect(status.Code(translate(ctx, errors.New("x"), "", nil))).To(Equal(codes.Canceled))
	ctx, cancel = context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	NewWithT(t).Expect(status.Code(translate(ctx, errors.New("x"), "", nil))).To(Equal(codes.DeadlineExceeded))
}

// However patient its client is.
func TestUnary_hasADeadline(t *testing.T) {
	t.Parallel()
	a := &admission{Tenancy: &Tenancy{Plaintext: true}, limits: newLimits(&Config{})}
	_, err := a.begin(t.Context(), nil)
	NewWithT(t).Expect(status.Code(err)).To(Equal(codes.Unauthenticated), "no peer")
	ctx, err := a.begin(peer.NewContext(t.Context(), &peer.Peer{AuthInfo: &session{AuthInfo: credentials.TLSInfo{}}}), nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, err = a.unary(ctx, &proxyv1.GetRequest{}, &grpc.UnaryServerInfo{FullMethod: ours + "x"}, func(ctx context.Context, _ any) (any, error) {
		at, ok := ctx.Deadline()
		NewWithT(t).Expect(ok).To(BeTrue())
		NewWithT(t).Expect(time.Until(at)).To(BeNumerically("<=", callTimeout))
		return nil, nil
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	// A request of ours that can't say whose objects it is about is a bug, not a way around.
	_, err = a.unary(ctx, &metav1.Status{}, &grpc.UnaryServerInfo{FullMethod: ours + "x"}, nil)
	NewWithT(t).Expect(status.Code(err)).To(Equal(codes.Internal))
}
