package client_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/bedplate/bedplate/internal/httpclient"
)

// recorder keeps what is sent.
type recorder struct {
	mu   sync.Mutex
	sent []request
}

type request struct{ method, url, body string }

func (r *recorder) through(next http.RoundTripper) http.RoundTripper {
	return httpclient.RoundTrip(func(sent *http.Request) (*http.Response, error) {
		var text []byte
		if sent.Body != nil {
			text, _ = io.ReadAll(sent.Body)
			sent = sent.Clone(sent.Context())
			sent.Body = io.NopCloser(bytes.NewReader(text))
		}
		r.mu.Lock()
		r.sent = append(r.sent, request{sent.Method, sent.URL.String(), string(text)})
		r.mu.Unlock()
		return next.RoundTrip(sent)
	})
}

// body of the last request of a method to a path.
func (r *recorder) body(method, path string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last string
	for _, sent := range r.sent {
		if sent.method == method && strings.Contains(sent.url, path) {
			last = sent.body
		}
	}
	return last
}

// urls that were called.
func (r *recorder) urls() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, sent := range r.sent {
		all = append(all, sent.url)
	}
	return all
}
