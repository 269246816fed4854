package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/memo"
)

// The names of the API, by release: a segment of every path. Other differences between the releases are small: roles (with
// the prefix FORGE_ in older ones) occur in tokens only, newer states of objects are additions, and the first releases have
// no VPC peerings and ignore a field that they don't know.
const (
	// APINameNICo is the name since release 1.5.
	APINameNICo = "nico"
	// APINameCarbide is the name before.
	APINameCarbide = "carbide"
)

const (
	opDetect   = "detect the API's name"
	opMetadata = "get metadata"
)

// dialect is the layer that puts the API's name at a server into each path: it is set, or detected and remembered.
func (c *Client) dialect(set string) httpclient.Layer {
	detected := &memo.Value[string]{}
	return func(next http.RoundTripper) http.RoundTripper {
		return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
			name := set
			if name == "" {
				var err error
				name, err = detected.Get(r.Context(), func(ctx context.Context) (string, time.Time, error) {
					name, err := c.detect(ctx, next, r.Header.Get("Authorization"))
					return name, time.Time{}, err
				})
				if err != nil && r.Context().Err() != nil {
					err = &fault.Error{Class: fault.Transient, Op: opDetect, Err: err}
				}
				if err != nil {
					return nil, err
				}
			}
			resp, err := next.RoundTrip(c.under(name, r))
			if errors.Is(err, errWrongPath) {
				detected.Forget(name) // the server may have been upgraded
			}
			return resp, err
		})
	}
}

// under an API name: the same request, whose path has none yet.
func (c *Client) under(name string, r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	to := c.org.JoinPath(name, strings.TrimPrefix(r.URL.EscapedPath(), c.org.EscapedPath()))
	to.RawQuery = r.URL.RawQuery
	r.URL = to
	return r
}

// detect asks for the server's version under each name, logged in as a call is. Only a definite answer counts: the version
// itself; or a refusal of the token under one name while the other is a wrong path, which the server reports before it checks the
// token.
func (c *Client) detect(ctx context.Context, next http.RoundTripper, login string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.api.Timeout(false))
	defer cancel()
	var wrong, refusing int
	var name string
	var last error
	for _, candidate := range []string{APINameNICo, APINameCarbide} {
		version, failed := c.version(ctx, next, candidate, login)
		status, cause := httpclient.Failed(failed)
		_, notAllowed := errors.AsType[*egress.Refused](failed)
		switch {
		case failed == nil && version != "":
			return candidate, nil
		case failed == nil:
			last = errors.New("the answer has no version")
		case errors.Is(failed, errWrongPath):
			wrong++
		case notAllowed:
			return "", cause
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			refusing++
			name, last = candidate, cause
		default:
			last = cause
		}
	}
	switch {
	case wrong == 1 && refusing == 1:
		return name, nil
	case wrong == 2:
		last = fmt.Errorf("it is neither %s nor %s: are endpoint and orgName right?", APINameNICo, APINameCarbide)
	}
	class := fault.Transient
	if refusing == 2 {
		class = fault.Credentials
	}
	return "", &fault.Error{Class: class, Op: opDetect, Err: last}
}

// version of the server under an API name.
func (c *Client) version(ctx context.Context, next http.RoundTripper, apiName, login string) (string, error) {
	metadata := gen.Metadata{}
	ctx = httpclient.With(ctx, &httpclient.Call{Op: opMetadata, Read: func(b *bounds.Body) error { return decode(b, &metadata, "") }})
	r, err := gen.NewGetMetadataRequest(c.org.JoinPath(apiName).String() + "/")
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", login)
	_ = acceptJSON(ctx, r) // can't fail
	resp, err := next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return "", err
	}
	return metadata.Version, resp.Body.Close()
}
