package client

import (
	"bufio"
	"errors"
	"io"
)

var (
	errNotList   = errors.New("unexpected answer: not a list")
	errNotObject = errors.New("unexpected answer: a list of something else than objects")
)

// items cuts a list into its objects, as it comes. A cut finds where an object ends if it is JSON; whether it is one shows when it is
// decoded. So each is read once, and one is in memory at a time: encoding/json's Decoder reads each three times before it is decoded.
type items struct {
	in   *bufio.Reader
	any  bool
	text []byte // of the last one; the next one takes its place
}

// begin says whether there is a list. Null is an empty one.
func (i *items) begin() (list bool, err error) {
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

// next is the text of an object, or nil after the last one.
func (i *items) next() ([]byte, error) {
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
	for s := (scan{values: 1, depth: 1}); s.depth > 0; {
		if _, err := i.in.Peek(1); err != nil {
			return nil, errNotJSON
		}
		there, _ := i.in.Peek(i.in.Buffered())
		n, ok := s.take(there)
		if !ok {
			return nil, errTooMuch
		}
		i.text = append(i.text, there[:n]...)
		_, _ = i.in.Discard(n) // it is there
	}
	return i.text, nil
}

// symbol is the next byte that is no white space.
func (i *items) symbol() (byte, error) {
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
func (i *items) end() error {
	if _, err := i.symbol(); !errors.Is(err, io.EOF) {
		return errNotJSON
	}
	return nil
}

// scan counts what a text that may be JSON has read so far: its values, keys among them, and how deep it is now.
type scan struct {
	values, depth   int
	quoted, escaped bool
}

// take the next bytes, up to where the outermost value ends. It returns how many that are, and whether there are no more than maxValues
// values yet, no deeper than maxDepth.
func (s *scan) take(text []byte) (n int, ok bool) {
	for ; n < len(text); n++ {
		switch c := text[n]; {
		case s.escaped:
			s.escaped = false
		case c == '"':
			s.quoted = !s.quoted
		case s.quoted:
			s.escaped = c == '\\'
		case c == '{', c == '[':
			s.values++
			s.depth++
		case c == '}', c == ']':
			s.depth--
		case c == ',', c == ':':
			s.values++
		default:
			continue
		}
		switch {
		case s.values >= maxValues || s.depth > maxDepth:
			return n, false
		case s.depth == 0 && !s.quoted:
			return n + 1, true
		}
	}
	return n, true
}

// bounded reports whether a text that may be JSON has no more than maxValues values, and isn't deeper than maxDepth.
func bounded(text []byte) bool {
	for s := (scan{}); len(text) > 0; {
		n, ok := s.take(text)
		if !ok {
			return false
		}
		text = text[n:]
	}
	return true
}
