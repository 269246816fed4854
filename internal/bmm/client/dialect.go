package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/fault"
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

// dialect is the API's name at a server: set, or detected and remembered.
type dialect struct {
	set      string
	detect   func(ctx context.Context, token string) (string, error)
	detected *memo.Value[string]
}

func newDialect(set string, detect func(ctx context.Context, token string) (string, error)) dialect {
	return dialect{set: set, detect: detect, detected: &memo.Value[string]{}}
}

// name of the API, as its server answers to a request with this token.
func (d dialect) name(ctx context.Context, token string) (string, error) {
	if d.set != "" {
		return d.set, nil
	}
	name, err := d.detected.Get(ctx, func(ctx context.Context) (string, time.Time, error) {
		name, err := d.detect(ctx, token)
		return name, time.Time{}, err
	})
	if err != nil && ctx.Err() != nil {
		err = &fault.Error{Class: fault.Transient, Op: opDetect, Err: err}
	}
	return name, err
}

// forget makes the next call detect again: the server may have been upgraded.
func (d dialect) forget(name string) { d.detected.Forget(name) }

const (
	opDetect   = "detect the API's name"
	opMetadata = "get metadata"
)

// detect asks for the server's version under each name. Only a definite answer counts: the version itself; or a
// refusal of the token under one name while the other is a wrong path, which the server reports before it checks
// the token.
func (c *Client) detect(ctx context.Context, token string) (string, error) {
	metadata := request{op: opMetadata, send: plain((*gen.Client).GetMetadata)}
	ctx, cancel := context.WithTimeout(ctx, c.timeoutOf(metadata))
	defer cancel()
	var wrong, refusing int
	var name string
	var last error
	for _, candidate := range []string{APINameNICo, APINameCarbide} {
		answer := gen.Metadata{}
		_, failed := c.try(ctx, candidate, token, metadata, &answer)
		switch {
		case failed == nil && answer.Version != "":
			return candidate, nil
		case failed == nil:
			last = errors.New("the answer has no version")
		case failed.wrongPath:
			wrong++
		case isNotAllowed(failed.err):
			return "", failed.err
		case failed.status == http.StatusUnauthorized || failed.status == http.StatusForbidden:
			refusing++
			name, last = candidate, failed.err
		default:
			last = failed.err
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
