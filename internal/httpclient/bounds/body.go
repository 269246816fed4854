// Package bounds reads answers of services within bounds of memory.
//
// A tenant chooses the endpoint, so an answer is bounded by its size in memory, and not only in bytes: an empty object in
// a list is 3 bytes, and up to 900 decoded.
//
// An answer being read takes readFactor times its bytes, and a list its decoded items besides; both count in the ration. An
// object being decoded takes at most MaxValues times the largest element of a list, 2 MB, for at most maxDecoding objects. Beyond
// that only the results of callers are alive: one object of 2 MB or one list of the largest for each worker.
package bounds

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bedplate/bedplate/internal/values"
)

const (
	// MaxObject bounds an object, alone or in a list, in bytes. A machine with 64 KiB of user data, every byte of it escaped, has
	// 400 KiB.
	MaxObject = 1 << 20
	// maxPage bounds a page of a list, in bytes. 100 machines with 64 KiB of user data each fit well.
	maxPage = 32 << 20
	// MaxOther bounds other answers: answers with an error, to a DELETE or to a login, in bytes.
	MaxOther = 64 << 10
	// MaxValues bounds the values of an object, those within others too. 200 rules of a firewall have 3,000.
	MaxValues = 10_000
	// maxDepth bounds how deep these are.
	maxDepth = 64
	// maxDecoding bounds how many objects are decoded at the same time.
	maxDecoding = 4
	// readFactor is for the buffers that grow while something is read.
	readFactor = 3
	// maxMessage bounds what is copied from an answer into an error text, in bytes.
	maxMessage = 300
)

// ErrTooLong is an answer of which only the beginning was read.
var ErrTooLong = errors.New("the answer is too long")

var (
	decoding = make(chan struct{}, maxDecoding)

	errTooMuch = fmt.Errorf("unexpected answer: an object of more than %d values, or deeper than %d", MaxValues, maxDepth)
	errNotJSON = errors.New("unexpected answer: not JSON")
)

// Body is an answer that is being read. Its reader allows more bytes after it has processed the last ones.
type Body struct {
	from   io.Reader
	memory *Share
	// err is why it ended early; lost if that was the network.
	err  error
	lost bool

	read, allowed int
	// left of maxPage.
	left int
}

// NewBody returns an answer that is read from its stream, and takes memory.
func NewBody(from io.Reader, memory *Share) *Body {
	return &Body{from: from, memory: memory, left: maxPage}
}

// allow so many bytes from here on.
func (b *Body) allow(bytes int) { b.read, b.allowed = 0, min(bytes, b.left) }

// Read fails when there is more than what is allowed.
func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.from.Read(p[:min(len(p), b.allowed-b.read+1)])
	b.read += n
	b.left -= n
	switch {
	case b.read > b.allowed:
		b.err = ErrTooLong
	case err != nil && err != io.EOF:
		b.err, b.lost = fmt.Errorf("read answer: %w", err), true
	default:
		b.err = b.memory.Set(max(b.memory.Has(), readFactor*b.read)) // buffers don't shrink
	}
	if b.err != nil {
		return 0, b.err
	}
	return n, err
}

// Err is why it ended early, if it did.
func (b *Body) Err() error { return b.err }

// Lost reports whether it ended early because of the network.
func (b *Body) Lost() bool { return b.lost }

// Whole is all of an answer, of so many bytes at most.
func (b *Body) Whole(bytes int) ([]byte, error) {
	b.allow(bytes)
	return io.ReadAll(b)
}

// Decode an answer that is one object. Without an out it is only read, so that its connection can be reused.
func (b *Body) Decode(out any) error {
	if out == nil {
		_, err := b.Whole(MaxOther)
		return err
	}
	text, err := b.Whole(MaxObject)
	if err != nil {
		return err
	}
	return Decode(text, out)
}

// Decode the text of an object.
func Decode(text []byte, out any) error {
	if err := Check(text); err != nil {
		return err
	}
	return Unmarshal(text, out)
}

// Check is an error of a text that may be JSON and has MaxValues values or more, or is too deep.
func Check(text []byte) error {
	if _, ok := values.Of(text, MaxValues, maxDepth); !ok {
		return errTooMuch
	}
	return nil
}

// Unmarshal decodes a text that was checked. It accepts keys in any case: services aren't consistent (ResourceTypeID). Its errors
// don't repeat the text: a machine contains user data.
func Unmarshal(text []byte, out any) error {
	decoding <- struct{}{}
	defer func() { <-decoding }()
	if err := json.Unmarshal(text, out); err != nil {
		if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("unexpected answer: field %s is of another type", Shorten(wrongType.Field))
		}
		return errNotJSON
	}
	return nil
}

// Shorten cuts a text of an answer's for a message. It runs after secrets are removed: a cut could leave a part of one.
func Shorten(text string) string {
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}
