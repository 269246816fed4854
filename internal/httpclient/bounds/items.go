package bounds

import (
	"bufio"
	"errors"
	"io"

	"github.com/bedplate/bedplate/internal/values"
)

var (
	errNotList   = errors.New("unexpected answer: not a list")
	errNotObject = errors.New("unexpected answer: a list of something else than objects")
)

// Items cuts a list into its objects, as it comes. A cut finds the end of an object if it is JSON; whether it is, is checked when it
// is decoded. So each is read once, and one is in memory at a time: encoding/json's Decoder reads each three times before it is
// decoded.
type Items struct {
	body *Body
	in   *bufio.Reader
	any  bool
	text []byte // of the last one; the next one takes its place
}

// ItemsOf the list that an answer is.
func ItemsOf(b *Body) *Items { return &Items{body: b, in: bufio.NewReader(b)} }

// Begin reports whether there is a list. Null is an empty one.
func (i *Items) Begin() (list bool, err error) {
	i.body.allow(MaxOther)
	switch c, err := i.symbol(); {
	case err != nil:
		return false, errNotJSON
	case c == '[':
		return true, nil
	case c != 'n':
		return false, errNotList
	}
	for _, wanted := range []byte("ull") {
		if c, err := i.in.ReadByte(); err != nil || c != wanted {
			return false, errNotJSON
		}
	}
	return false, i.end()
}

// Next is the text of an object, or nil after the last one. It needs no check.
func (i *Items) Next() ([]byte, error) {
	i.body.allow(MaxObject)
	c, err := i.symbol()
	if err == nil && c == ']' {
		return nil, i.end()
	}
	if err == nil && i.any {
		if c != ',' {
			return nil, errNotJSON
		}
		c, err = i.symbol()
	}
	switch {
	case err != nil:
		return nil, errNotJSON
	case c != '{':
		return nil, errNotObject
	}
	i.any, i.text = true, append(i.text[:0], c)
	for s := (values.Scan{Values: 1, Depth: 1}); s.Depth > 0; {
		if _, err := i.in.Peek(1); err != nil {
			return nil, errNotJSON
		}
		there, _ := i.in.Peek(i.in.Buffered())
		n, ok := s.Take(there, MaxValues, maxDepth)
		if !ok {
			return nil, errTooMuch
		}
		i.text = append(i.text, there[:n]...)
		_, _ = i.in.Discard(n) // it is there
	}
	return i.text, nil
}

// symbol is the next byte that is no white space.
func (i *Items) symbol() (byte, error) {
	for {
		switch c, err := i.in.ReadByte(); {
		case err != nil:
			return 0, err
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return c, nil
		}
	}
}

// end is nil if there is nothing more.
func (i *Items) end() error {
	if _, err := i.symbol(); !errors.Is(err, io.EOF) {
		return errNotJSON
	}
	return nil
}
