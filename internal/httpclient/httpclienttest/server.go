// Package httpclienttest gives tests of clients a server.
package httpclienttest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Start starts a server with the given routes, by their patterns for http.ServeMux, until the test ends.
func Start(t testing.TB, routes map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(Mux(routes))
	t.Cleanup(server.Close)
	return server
}

// Mux is the handler of such a server.
func Mux(routes map[string]http.HandlerFunc) *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, handler := range routes {
		mux.HandleFunc(pattern, handler)
	}
	return mux
}

// Reply answers with a status and a JSON text.
func Reply(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}
