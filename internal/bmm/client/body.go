package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// A tenant chooses the endpoint, so an answer is bounded by its size in memory, and not only in bytes: an empty object in
// a list is 3 bytes, and up to 900 decoded.
//
// An answer being read takes readFactor times its bytes, and a list its decoded items besides; both count in the ration. An
// object being decoded takes at most maxValues times the largest element of a list, 2 MB, for at most maxDecoding objects. Beyond
// that only the results of callers are alive: one object of 2 MB or one list of maxListed bytes for each worker.
const (
	// maxObject bounds an object, alone or in a list, in bytes. With 64 KiB of user data, every byte of it escaped, it has 400 KiB.
	maxObject = 1 << 20
	// maxPage bounds a page of a list, in bytes. 100 instances with 64 KiB of user data each fit well.
	maxPage = 32 << 20
	// maxOther bounds other answers: answers with an error, to a DELETE or to a login, in bytes.
	maxOther = 64 << 10
	// maxValues bounds the values of an object, those within others too. 200 rules of a security group have 3,000.
	maxValues = 10_000
	// maxDepth bounds how deep these are.
	maxDepth = 64
	// maxID bounds the ID of an object, in bytes. Most are UUIDs; those of machines have 59.
	maxID = 128
	// maxDecoding bounds how many objects are decoded at the same time.
	maxDecoding = 4
	// readFactor is for the buffers that grow while something is read.
	readFactor = 3
)

var (
	decoding = make(chan struct{}, maxDecoding)

	errTooLong = errors.New("the answer is too long")
	errTooMuch = fmt.Errorf("unexpected answer: an object of more than %d values, or deeper than %d", maxValues, maxDepth)
	errNotJSON = errors.New("unexpected answer: not JSON")
)

// body is an answer that is being read. Its reader allows more bytes after it has processed the last ones.
type body struct {
	from   io.Reader
	memory *share
	// err is why it ended early; lost if that was the network.
	err  error
	lost bool

	read, allowed int
	// left of maxPage.
	left int
}

func newBody(from io.Reader, memory *share) *body {
	return &body{from: from, memory: memory, left: maxPage}
}

// allow so many bytes from here on.
func (b *body) allow(bytes int) { b.read, b.allowed = 0, min(bytes, b.left) }

// Read fails when there is more than what is allowed.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.from.Read(p[:min(len(p), b.allowed-b.read+1)])
	b.read += n
	b.left -= n
	switch {
	case b.read > b.allowed:
		b.err = errTooLong
	case err != nil && err != io.EOF:
		b.err, b.lost = fmt.Errorf("read answer: %w", err), true
	default:
		b.err = b.memory.set(max(b.memory.has, readFactor*b.read)) // buffers don't shrink
	}
	if b.err != nil {
		return 0, b.err
	}
	return n, err
}

// whole is all of an answer, of so many bytes at most.
func (b *body) whole(bytes int) ([]byte, error) {
	b.allow(bytes)
	return io.ReadAll(b)
}

// inParts decodes itself from the stream of an answer, instead of from all of it at once.
type inParts interface{ decodeFrom(b *body) error }

// decode an answer. Without an out it is only read, so that its connection can be reused.
func decode(b *body, out any) error {
	if out == nil {
		_, err := b.whole(maxOther)
		return err
	}
	if parts, ok := out.(inParts); ok {
		return parts.decodeFrom(b)
	}
	text, err := b.whole(maxObject)
	if err != nil {
		return err
	}
	return decodeObject(text, out)
}

func decodeObject(text []byte, out any) error {
	if !bounded(text) {
		return errTooMuch
	}
	return unmarshal(text, out)
}

// unmarshal accepts keys in any case: the service isn't consistent (ResourceTypeID). Its errors don't repeat the text: an
// instance contains user data.
func unmarshal(text []byte, out any) error {
	decoding <- struct{}{}
	defer func() { <-decoding }()
	if err := json.Unmarshal(text, out); err != nil {
		if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("unexpected answer: field %s is of another type", shorten(wrongType.Field))
		}
		return errNotJSON
	}
	return nil
}

// rightObject fails if an answer isn't the requested object; without an ID, any object will do. What isn't an object of the
// API has no ID.
func rightObject(out any, id string) error {
	value := reflect.Indirect(reflect.ValueOf(out))
	if value.Kind() != reflect.Struct {
		return nil
	}
	field := value.FieldByName("ID")
	switch {
	case !field.IsValid() || field.Kind() != reflect.String:
		return nil
	case field.Len() == 0:
		return errors.New("unexpected answer: it has no ID")
	case field.Len() > maxID:
		return errors.New("unexpected answer: its ID is too long")
	case id != "" && !strings.EqualFold(field.String(), id):
		return errors.New("unexpected answer: it is of another object")
	}
	return nil
}
