// Package simulatortest reaches simulators without a network, for tests with simulated time (testing/synctest).
package simulatortest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
)

// Transport calls the handler of a host instead of a server.
type Transport func(host string) http.Handler

// RoundTrip returns an error where a server would drop the connection.
func (t Transport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if aborted := recover(); aborted != nil {
			resp, err = nil, fmt.Errorf("connection dropped: %w", io.ErrUnexpectedEOF)
		}
	}()
	request := r.Clone(r.Context())
	request.RemoteAddr = "127.0.0.1:1"
	if request.Body == nil {
		request.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	t(r.URL.Host).ServeHTTP(recorder, request)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	resp = recorder.Result()
	resp.Request = r
	if r.Method == http.MethodHead {
		resp.Body = http.NoBody
	}
	return resp, nil
}
