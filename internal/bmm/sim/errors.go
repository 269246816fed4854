package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/simulator"
)

// apiError is an error answer of the service.
type apiError struct {
	status  int
	message string
	data    map[string]string
}

func (e *apiError) Error() string { return fmt.Sprintf("%d: %s", e.status, e.message) }

func refuse(status int, format string, args ...any) *apiError {
	return &apiError{status: status, message: fmt.Sprintf(format, args...)}
}

// bad is the answer to a request that makes no sense.
func bad(format string, args ...any) *apiError { return refuse(http.StatusBadRequest, format, args...) }

// badField is the answer to a request with a wrong field.
func badField(field, format string, args ...any) *apiError {
	answer := bad("Error validating request data")
	answer.data = map[string]string{field: fmt.Sprintf(format, args...)}
	return answer
}

// taken is the answer that says which resource has the name, or the ID.
func taken(message, otherID string) *apiError {
	return &apiError{status: http.StatusConflict, message: message, data: map[string]string{"id": otherID}}
}

// nameTaken is how most kinds say it.
func nameTaken(what, otherID string) *apiError {
	return taken(what+" with specified name already exists for Tenant", otherID)
}

// writeError answers with a refusal as it is, and with 500 for any other error.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	answer, ok := errors.AsType[*apiError](err)
	if refusal, is := errors.AsType[*simulator.Refusal](err); !ok && is {
		answer = refuse(refusal.Status, "%s", refusal.Message)
	} else if !ok {
		answer = refuse(http.StatusInternalServerError, "%s", err)
	}
	body := api.Error{Source: sourceOf(r.Context()), Message: answer.message}
	if answer.data != nil {
		body.Data = answer.data
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// badRequest answers a request that can't be decoded.
func badRequest(w http.ResponseWriter, r *http.Request, _ error) {
	writeError(w, r, bad("Failed to parse request data, potentially invalid structure"))
}
