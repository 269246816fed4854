package httpclient

import (
	"bytes"
	"io"
	"net/http"
)

// maxRepeats bounds how often one call is repeated.
const maxRepeats = 2

// repeated is the layer that repeats a request, if that is safe and may help. Another login is fetched only after this one is
// refused: a login that hangs would look like an API that hangs. What has been silent before is asked once.
func (c *Client) repeated(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		attempt, err := attemptsOf(r)
		if err != nil {
			return nil, c.unanswered(r.Context(), callOf(r).Op, c.config.EndpointKey, false, err)
		}
		header := r.Header.Get(authorization)
		var last *failure
		for repeats, renewed := 0, false; ; repeats++ {
			callOf(r).header = header
			resp, err := next.RoundTrip(attempt(header))
			if err == nil {
				return resp, nil
			}
			failed := failureOf(err)
			if failed.withheld && last != nil {
				return nil, last // what went wrong, not that there was no time to try again
			}
			last = failed
			if failed.refused && !failed.hopeless && !renewed && c.login.renew(header) {
				renewed = true
				if header, failed = c.authorize(r.Context()); failed != nil {
					return nil, failed
				}
				continue
			}
			if repeats >= maxRepeats || failed.pause > patience || failed.withheld || !failed.mayRepeat(writes(r)) || c.Silent() != nil ||
				!sleep(r.Context(), backoff(repeats)) {
				return nil, failed
			}
		}
	})
}

// attemptsOf a request: each has a body and headers of its own, with the given login.
func attemptsOf(r *http.Request) (func(header string) *http.Request, error) {
	var text []byte
	hasBody := r.Body != nil && r.Body != http.NoBody
	if hasBody {
		var err error
		if text, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	return func(header string) *http.Request {
		attempt := r.Clone(r.Context())
		attempt.Header.Set(authorization, header)
		attempt.Header.Del("Accept-Encoding") // the transport sets it, and unpacks the answer before it is bounded
		if hasBody {
			attempt.ContentLength = int64(len(text))
			attempt.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
			attempt.Body, _ = attempt.GetBody() // can't fail
		}
		return attempt
	}, nil
}
