package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
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

// nameTaken is the answer that tells who has the name.
func nameTaken(what, otherID string) *apiError {
	return &apiError{
		status:  http.StatusConflict,
		message: fmt.Sprintf("%s with specified name already exists for Tenant", what),
		data:    map[string]string{"id": otherID},
	}
}

// writeError answers with an apiError as it is, and with 500 for any other error.
func writeError(w http.ResponseWriter, _ *http.Request, err error) {
	answer, ok := errors.AsType[*apiError](err)
	if !ok {
		answer = refuse(http.StatusInternalServerError, "%s", err)
	}
	body := api.Error{Source: "nico", Message: answer.message}
	if answer.data != nil {
		body.Data = answer.data
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// badRequest answers a request that can't be decoded.
func badRequest(w http.ResponseWriter, r *http.Request, _ error) {
	writeError(w, r, refuse(http.StatusBadRequest, "Failed to parse request data, potentially invalid structure"))
}
