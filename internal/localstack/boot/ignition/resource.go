package ignition

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bedplate/bedplate/internal/localstack/boot/cloudinit"
)

const (
	maxFetched    = 16 << 20 // bytes
	fetchInterval = 500 * time.Millisecond
	fetchTimeout  = 30 * time.Second
)

// resource is something that a URL leads to.
type resource struct {
	Source       string `json:"source"`
	Compression  string `json:"compression"`
	Verification struct {
		Hash string `json:"hash"`
	} `json:"verification"`
}

func (r resource) read(ctx context.Context) ([]byte, error) {
	data, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	if hash := r.Verification.Hash; hash != "" {
		sum := sha512.Sum512(data)
		if hash != "sha512-"+hex.EncodeToString(sum[:]) {
			return nil, errors.New("the content hasn't the hash in verification")
		}
	}
	switch r.Compression {
	case "":
		return data, nil
	case "gzip":
		return cloudinit.Gunzip(data)
	}
	return nil, fmt.Errorf("compression %q is not supported here", r.Compression)
}

func (r resource) load(ctx context.Context) ([]byte, error) {
	if r.Source == "" {
		return nil, nil
	}
	if data, found := strings.CutPrefix(r.Source, "data:"); found {
		return decodeData(data)
	}
	source, err := url.Parse(r.Source)
	switch {
	case err != nil:
		return nil, errors.New("a source is no URL") // which may have a signature in it
	case source.Scheme != "http" && source.Scheme != "https":
		return nil, fmt.Errorf("a source of scheme %q is not supported here", source.Scheme)
	}
	return fetch(ctx, source)
}

// decodeData reads what follows "data:".
func decodeData(text string) ([]byte, error) {
	kind, data, found := strings.Cut(text, ",")
	if !found {
		return nil, errors.New("a data URL has no comma")
	}
	plain, err := url.PathUnescape(data)
	if err != nil {
		return nil, errors.New("a data URL has a wrong escape")
	}
	if !strings.HasSuffix(kind, ";base64") {
		return []byte(plain), nil
	}
	decoded, err := base64.StdEncoding.DecodeString(plain)
	if err != nil {
		return nil, fmt.Errorf("a data URL: %w", err)
	}
	return decoded, nil
}

// fetch asks until the server answers, and answers with less than 500.
func fetch(ctx context.Context, source *url.URL) (data []byte, err error) {
	var last error
	err = wait.PollUntilContextTimeout(ctx, fetchInterval, fetchTimeout, true, func(ctx context.Context) (bool, error) {
		var status int
		status, data, last = get(ctx, source)
		if last == nil && status >= http.StatusBadRequest && status < http.StatusInternalServerError {
			return false, fmt.Errorf("the server answers %d", status)
		}
		if last == nil && status != http.StatusOK {
			last = fmt.Errorf("the server answers %d", status)
		}
		return last == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("fetch %s://%s%s: %w", source.Scheme, source.Host, source.Path, errors.Join(err, last))
	}
	return data, nil
}

func get(ctx context.Context, source *url.URL) (status int, data []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source.String(), nil)
	if err != nil {
		return 0, nil, errors.New("no request")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var failed *url.Error // has the URL in its text
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return 0, nil, err
	}
	defer response.Body.Close()
	data, err = io.ReadAll(http.MaxBytesReader(nil, response.Body, maxFetched))
	return response.StatusCode, data, err
}
