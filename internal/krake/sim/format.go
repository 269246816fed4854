package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/simulator"
)

// Media types.
const (
	textPlain = "text/plain"
	textYAML  = "text/yaml"
	uriList   = "text/uri-list"
	asJSON    = "application/json"
)

// reply is an answer, in the format that the client accepts.
type reply struct {
	// media is the type of the answer to who accepts all.
	media string
	// field is the value's name in JSON; the value may be a list of URIs.
	field string
	value any
	// id of an infrastructure, in a header.
	id string
}

// mediaTypes in a header.
func mediaTypes(header string) []string {
	var types []string
	for part := range strings.SplitSeq(header, ",") {
		kind, _, _ := strings.Cut(part, ";")
		switch kind = strings.TrimSpace(kind); kind {
		case "":
		case "text/x-yaml", "application/yaml":
			types = append(types, textYAML)
		default:
			types = append(types, kind)
		}
	}
	return types
}

// finish a call with an answer or an error.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, answer reply, err error) {
	accepted := mediaTypes(r.Header.Get("Accept"))
	if len(accepted) == 0 {
		accepted = []string{"*/*"}
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	for _, kind := range accepted {
		switch kind {
		case asJSON, "application/*":
			answer.write(w, asJSON)
			return
		case answer.media, "*/*", "text/*":
			answer.write(w, answer.media)
			return
		}
	}
	fail(w, r, refuse(http.StatusUnsupportedMediaType, "Unsupported Accept Media Types: %s", strings.Join(accepted, ",")))
}

func (a reply) write(w http.ResponseWriter, media string) {
	if a.id != "" {
		w.Header().Set("InfID", a.id)
	}
	w.Header().Set("Content-Type", media)
	uris, isList := a.value.([]string)
	switch {
	case media != asJSON && isList:
		_, _ = fmt.Fprint(w, strings.Join(uris, "\n")) // the client may be gone
		return
	case media != asJSON:
		_, _ = fmt.Fprint(w, a.value)
		return
	case isList:
		list := []map[string]string{}
		for _, uri := range uris {
			list = append(list, map[string]string{"uri": uri})
		}
		a.value = list
	}
	if a.field != "" {
		a.value = map[string]any{a.field: a.value}
	}
	_ = json.NewEncoder(w).Encode(a.value)
}

// fail as IM does.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	status, message := http.StatusInternalServerError, err.Error()
	if refusal, ok := errors.AsType[*simulator.Refusal](err); ok {
		status = refusal.Status
	}
	if slices.Contains(mediaTypes(r.Header.Get("Accept")), asJSON) {
		w.Header().Set("Content-Type", asJSON)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"message": message, "code": status})
		return
	}
	w.Header().Set("Content-Type", textPlain)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, message) //nolint:gosec // it is plain text
}

// uri of an infrastructure, or of what is below it.
func uri(r *http.Request, id string, below ...string) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + "/" + strings.Join(append([]string{"infrastructures", id}, below...), "/")
}

// flag is a parameter that is yes or no.
func flag(c *call, name string, fallback bool) (bool, error) {
	if !c.URL.Query().Has(name) {
		return fallback, nil
	}
	switch strings.ToLower(c.URL.Query().Get(name)) {
	case "yes", "true", "1":
		return true, nil
	case "no", "false", "0":
		return false, nil
	}
	return false, refuse(http.StatusBadRequest, "Incorrect value in %s parameter", name)
}
