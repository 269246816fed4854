package proxy

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/bedplate/bedplate/internal/hydrazine/proxy/feed"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy/mirror"
)

const (
	// errorDomain of the reasons, see common.proto.
	errorDomain = "hydrazine.bedplate.dev"
	// retrySoon is when to retry if the API server doesn't say it.
	retrySoon = time.Second
)

// failure is an error as clients get it. Only its own text is sent: errors of the API server may name objects of
// others.
type failure struct {
	code    codes.Code
	message string
	reason  string // for programs
	about   map[string]string
	fields  []*errdetails.BadRequest_FieldViolation
	retry   time.Duration
}

func (f failure) error() error {
	var details []protoadapt.MessageV1
	if len(f.fields) > 0 {
		details = append(details, &errdetails.BadRequest{FieldViolations: f.fields})
	}
	if f.reason != "" {
		details = append(details, &errdetails.ErrorInfo{Reason: f.reason, Domain: errorDomain, Metadata: f.about})
	}
	if f.retry > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(f.retry)})
	}
	s, err := status.New(f.code, f.message).WithDetails(details...)
	if err != nil {
		return status.Error(f.code, f.message)
	}
	return s.Err()
}

// invalid is an error of one field.
func invalid(field, description string) error {
	return failure{code: codes.InvalidArgument, message: field + ": " + description,
		fields: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: description}}}.error()
}

// listAgain says that what a client wants to continue from isn't known any more.
func listAgain(message string) error {
	return failure{code: codes.OutOfRange, message: message, reason: "LIST_AGAIN"}.error()
}

func unavailable(message string) error {
	return failure{code: codes.Unavailable, message: message, retry: retrySoon}.error()
}

// translate an error of the API server. What is an object, such as "ResourceGroup blue". Path turns the names of fields into
// those of the messages.
func translate(ctx context.Context, err error, what string, path func(string) string) error {
	if passed := context.Cause(ctx); errors.Is(passed, errSurplus) {
		return tooMany(passed.Error(), bookmarkInterval)
	} else if passed != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	f := failure{code: codes.Internal}
	f.message = what + ": the call to the API server failed; see the proxy's log"
	reason := apierrors.ReasonForError(err)
	delay, delayed := apierrors.SuggestsClientDelay(err)
	switch {
	case errors.Is(err, feed.ErrUnsynced):
		f.code, f.message, f.retry = codes.Unavailable, "the proxy has just started and hasn't read the objects yet", retrySoon
	case apierrors.IsNotFound(err):
		f.code, f.message = codes.NotFound, what+": not found"
	case apierrors.IsInvalid(err):
		f.code, f.fields = codes.InvalidArgument, violations(err, path)
		f.message = what + ": " + sentence(f.fields)
	case apierrors.IsConflict(err):
		f.code, f.reason, f.message = codes.Aborted, "VERSION_DIFFERS", what+": it has changed since: read it again"
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		f.code, f.reason, f.retry = codes.FailedPrecondition, "BEING_DELETED", 10*retrySoon
		f.message = what + ": the tenant's namespace is being deleted"
	case reason == metav1.StatusReasonForbidden && strings.Contains(err.Error(), "exceeded quota"):
		f.code, f.reason, f.message = codes.ResourceExhausted, "QUOTA", what+": the tenant's quota is exceeded"
	case reason == metav1.StatusReasonForbidden:
		klog.FromContext(ctx).Error(err, "The API server refuses", "object", what)
		f.code, f.message = codes.PermissionDenied, what+": the API server's policy doesn't allow it"
	case apierrors.IsRequestEntityTooLargeError(err):
		f.code, f.message = codes.InvalidArgument, what+": it is too large"
	case delayed || transient(err, reason):
		f.code, f.message = codes.Unavailable, what+": the API server is unavailable"
		f.retry = max(retrySoon, time.Duration(delay)*time.Second)
	}
	if f.code == codes.Internal || f.code == codes.Unavailable {
		klog.FromContext(ctx).Error(err, "A call to the API server failed", "object", what)
	}
	return f.error()
}

// transient reports whether the same may succeed later. What the API server hasn't answered at all may.
func transient(err error, reason metav1.StatusReason) bool {
	answer := apierrors.APIStatus(nil)
	return !errors.As(err, &answer) || answer.Status().Code >= http.StatusInternalServerError || reason == metav1.StatusReasonTimeout
}

// violations of fields, with the messages' names.
func violations(err error, path func(string) string) (all []*errdetails.BadRequest_FieldViolation) {
	answer := apierrors.APIStatus(nil)
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return nil
	}
	for _, cause := range answer.Status().Details.Causes {
		all = append(all, &errdetails.BadRequest_FieldViolation{Field: path(cause.Field), Description: cause.Message})
	}
	return all
}

func sentence(fields []*errdetails.BadRequest_FieldViolation) string {
	var said []string
	for _, field := range fields {
		said = append(said, field.Field+": "+field.Description)
	}
	if len(said) == 0 {
		return "the API server refuses it"
	}
	return strings.Join(said, "; ")
}

// unknown is an error about what only a newer proxy would understand.
func unknown(err error) error {
	field := "spec"
	problem := (*mirror.UnknownError)(nil)
	if !errors.As(err, &problem) {
		return invalid(field, err.Error())
	}
	if problem.Field != "" {
		field += "." + problem.Field
	}
	return invalid(field, problem.Problem)
}
