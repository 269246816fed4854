package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bedplate/bedplate/internal/evict"
	"github.com/bedplate/bedplate/internal/mtls"
	"github.com/bedplate/bedplate/internal/values"
)

const (
	// maxObject is how many bytes an object may grow to, and maxValues how many values. Ours have less: 256 KiB of annotations, 64 KiB
	// of security groups, and their fields' managers.
	maxObject, maxValues = 1 << 20, 32 << 10
	// webhookBody is that of an object as it was and as it is to be, with a status that is written without being admitted.
	// webhookValues is how many values it has.
	webhookBody, webhookValues = 5 * maxObject / 2, 5 * maxValues / 2
	// A request weighs as much as its headers may, readFactor times what has come of its body, and valueWeight for each value in that,
	// which is what an empty element of our lists takes when it is decoded. webhookRequests is what all may weigh together, in bytes.
	readFactor, valueWeight = 8, 256
	webhookRequests         = 96 << 20
	// webhooksAtOnce is how many are decoded and answered at the same time: that can't be ended.
	webhooksAtOnce = 4
)

var (
	errWebhookRequests = errors.New("the requests of this client are too many, or too large")
	errWebhookValues   = errors.New("the request has too many values")
	errWebhookObject   = errors.New("the object is too large, or has too many values: make it smaller")
)

// bounded handles requests that weigh no more than webhookRequests together, and few of them at a time.
func bounded(handler http.Handler) http.Handler {
	all, turns := evict.New[netip.Prefix](webhookRequests), make(chan struct{}, webhooksAtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		b := &body{ReadCloser: http.MaxBytesReader(w, r.Body, webhookBody)}
		b.weight = all.Add(from(r), portHeaders, func() { b.end(http.NewResponseController(w)); cancel() })
		defer b.handled()
		data, err := io.ReadAll(b)
		if err == nil && grows(data) {
			err = errWebhookObject
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		keep(r) // the request is there
		defer keep(r)
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			http.Error(w, errWebhookRequests.Error(), http.StatusTooManyRequests)
			return
		}
		r = r.WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(data))
		handler.ServeHTTP(w, r)
	})
}

type connectionKey struct{}

// connected remembers a request's connection.
func connected(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// keep the connection of a request before those on which none is complete.
func keep(r *http.Request) {
	if c, ok := r.Context().Value(connectionKey{}).(net.Conn); ok {
		mtls.Keep(c)
	}
}

// from is whose request it is.
func from(r *http.Request) netip.Prefix {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	return mtls.NetworkOf(net.TCPAddrFromAddrPort(address))
}

// grows reports whether an object is to be larger than one may be. One that was accepted and couldn't be written again could
// never be deleted.
func grows(data []byte) bool {
	var review struct {
		Request struct{ Object, OldObject json.RawMessage }
	}
	if len(data) <= maxObject && fewer(data, maxValues) || json.Unmarshal(data, &review) != nil { // the decoder says what is wrong
		return false
	}
	after, before := review.Request.Object, review.Request.OldObject
	n, _ := values.Of(before, math.MaxInt, math.MaxInt)
	return len(after) > max(maxObject, len(before)) || !fewer(after, max(maxValues, n)+1)
}

func fewer(data []byte, than int) bool {
	_, ok := values.Of(data, than, math.MaxInt)
	return ok
}

// body of a request, which weighs what has come of it until it is handled.
type body struct {
	io.ReadCloser
	scan    values.Scan
	weight  *evict.Entry[netip.Prefix]
	surplus atomic.Bool // it has to go
	mutex   sync.Mutex
	over    bool // it has been handled: what it was read by is another request's
}

// Read implements io.Reader.
func (b *body) Read(into []byte) (int, error) {
	if b.surplus.Load() {
		return 0, errWebhookRequests
	}
	n, err := b.ReadCloser.Read(into)
	before := b.scan.Values
	for text := into[:n]; len(text) > 0; {
		taken, ok := b.scan.Take(text, webhookValues, math.MaxInt)
		if !ok {
			return 0, errWebhookValues
		}
		text = text[taken:]
	}
	b.weight.Grow(readFactor*n + valueWeight*(b.scan.Values-before))
	return n, err
}

// end reading, for which there may be nothing to come.
func (b *body) end(reading *http.ResponseController) {
	b.surplus.Store(true)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if !b.over {
		_ = reading.SetReadDeadline(time.Now())
	}
}

func (b *body) handled() {
	b.mutex.Lock()
	b.over = true
	b.mutex.Unlock()
	b.weight.Remove()
}
