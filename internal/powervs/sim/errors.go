package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/bedplate/bedplate/internal/simulator"
)

// failure is an error answer. Each service has its own format for it.
type failure struct {
	status int
	// code is the service's own.
	code, message string
}

func (f *failure) Error() string { return fmt.Sprintf("%d %s: %s", f.status, f.code, f.message) }

func refuse(status int, code, format string, args ...any) *failure {
	return &failure{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// failureOf is a refusal as it is, and 500 for any other error.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if refusal, ok := errors.AsType[*simulator.Refusal](err); ok {
		return &failure{status: refusal.Status, code: commonCode(refusal.Status), message: refusal.Message}
	}
	return &failure{status: http.StatusInternalServerError, code: commonCode(http.StatusInternalServerError), message: err.Error()}
}

// commonCode is the code of an error that isn't the service's own.
func commonCode(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return "too_many_requests"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusConflict:
		return "conflict"
	case http.StatusServiceUnavailable:
		return "service_unavailable"
	}
	if status < http.StatusInternalServerError {
		return "bad_request"
	}
	return "internal_error"
}

// writeFailure writes an error as JSON.
func writeFailure(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// failWithList is the format of most newer services: a list of errors, and what support asks for.
func failWithList(w http.ResponseWriter, f *failure) {
	writeFailure(w, f.status, map[string]any{
		"errors": []map[string]string{{"code": f.code, "message": f.message}}, "trace": "simulated", "status_code": f.status,
	})
}
