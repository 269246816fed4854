package sim

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// operation is an operation of the OpenAPI document.
type operation struct {
	id     string
	route  routers.Route
	params []string
}

// operations has all operations, by the pattern that the mux knows them by.
type operations map[string]operation

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

func operationsOf(document *openapi3.T, base string, d dialect) operations {
	all := operations{}
	for path, item := range document.Paths.Map() {
		if !d.has(path) {
			continue
		}
		var params []string
		for _, match := range pathParameter.FindAllStringSubmatch(path, -1) {
			params = append(params, match[1])
		}
		for method, op := range item.Operations() {
			route := routers.Route{Spec: document, Path: path, PathItem: item, Method: method, Operation: op}
			all[method+" "+base+path] = operation{id: op.OperationID, route: route, params: params}
		}
	}
	return all
}

// validate refuses requests that don't fit the OpenAPI document.
func (o operations) validate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := o[r.Pattern]
		input := &openapi3filter.RequestValidationInput{
			Request:    r,
			PathParams: map[string]string{},
			Route:      &op.route,
			Options:    &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
		}
		for _, name := range op.params {
			input.PathParams[name] = r.PathValue(name)
		}
		if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
			writeError(w, r, invalid(err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// invalid tells which field is wrong and why, but not its value.
func invalid(err error) *apiError {
	request, ok := errors.AsType[*openapi3filter.RequestError](err)
	if ok && request.Parameter != nil {
		if request.Parameter.In == openapi3.ParameterInPath {
			return refuse(http.StatusBadRequest, "Invalid ID in URL")
		}
		return refuse(http.StatusBadRequest, "Invalid value of query parameter %s", request.Parameter.Name)
	}
	answer := refuse(http.StatusBadRequest, "Error validating request data")
	if schema, ok := errors.AsType[*openapi3.SchemaError](err); ok {
		answer.data = map[string]string{strings.Join(schema.JSONPointer(), "."): schema.Reason}
	}
	return answer
}

// check refuses IDs that no operation has, in any case.
func (o operations) check(ids ...string) error {
	for _, id := range ids {
		known := false
		for _, op := range o {
			known = known || strings.EqualFold(op.id, id)
		}
		if !known {
			return fmt.Errorf("unknown operation %q", id)
		}
	}
	return nil
}
