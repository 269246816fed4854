package im

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Fields of credentials that are used here. IM knows more, for each type others.
const (
	FieldID       = "id"
	FieldType     = "type"
	FieldHost     = "host"
	FieldUsername = "username"
	FieldPassword = "password"
	FieldToken    = "token"
)

// TypeIM is the type of the credential that says who a user of IM is. All others are for clouds.
const TypeIM = "InfrastructureManager"

// Credential is what IM needs to log in to something: an ID, a type, and fields that depend on the type. It prints no value.
type Credential map[string]string

// String names the credential and no value.
func (c Credential) String() string {
	return fmt.Sprintf("credential %s of type %s", c[FieldID], c[FieldType])
}

// GoString names the credential and no value.
func (c Credential) GoString() string { return c.String() }

// maxHeader bounds the header, in bytes: IM's server refuses longer ones, with whatever else is in a request's head.
const maxHeader = 48 << 10

var (
	// IM puts the ID into its own language, where any other name is a syntax error, and answers 500.
	idPattern    = regexp.MustCompile(`^[a-zA-Z_.][a-zA-Z0-9_.-]*$`)
	fieldPattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)
	typePattern  = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9]*$`)
)

// validate names the field that IM couldn't use, and no value.
func (c Credential) validate() error {
	switch {
	case !idPattern.MatchString(c[FieldID]):
		return errors.New("the id of a credential must begin with a letter, _ or ., and go on with letters, digits, _, . and -")
	case !typePattern.MatchString(c[FieldType]):
		return errors.New("the type of a credential must consist of letters and digits")
	}
	for _, field := range slices.Sorted(maps.Keys(c)) {
		switch {
		case !fieldPattern.MatchString(field):
			return fmt.Errorf("%q can't be a field of a credential: letters, digits and _ can", field)
		case !utf8.ValidString(c[field]):
			return fmt.Errorf("%s isn't text in UTF-8", field)
		}
	}
	return nil
}

// header is the value of Authorization: a JSON array in one line, in which each character but letters and digits is \uXXXX.
//
// This rests on how IM reads it (IM/auth.py and get_auth_header in its REST module; JSON is accepted since its issue 1723). Before it
// looks at the format, it replaces \\n by a newline, and splits at each \n: both are the characters, which JSON's own escapes consist of,
// too. So no value may contain a backslash that is followed by n or by another one, and \uXXXX never is. What isn't JSON is a line of
// "k = v" separated by ";". Only there are quotes taken out, is a line cut off silently at what isn't "k = v", and is file(PATH) replaced
// by that file of the server's. A release that doesn't know JSON reads a header as such a line: this one has none of these characters, so
// nothing is read from it, and the answer is 401. As a header it also has no control characters and nothing but ASCII.
func header(credentials []Credential) (string, error) {
	if lengthOf(credentials) > maxHeader {
		return "", errTooLong
	}
	known := map[string]bool{}
	all := make([]string, 0, len(credentials))
	for _, c := range credentials {
		if err := c.validate(); err != nil {
			return "", err
		}
		if known[c[FieldID]] {
			return "", fmt.Errorf("two credentials have the id %s", c[FieldID])
		}
		known[c[FieldID]] = true
		fields := make([]string, 0, len(c))
		for _, field := range slices.Sorted(maps.Keys(c)) {
			fields = append(fields, quote(field)+":"+quote(c[field]))
		}
		all = append(all, "{"+strings.Join(fields, ",")+"}")
	}
	text := "[" + strings.Join(all, ",") + "]"
	if len(text) > maxHeader {
		return "", errTooLong
	}
	return text, nil
}

var errTooLong = fmt.Errorf("the credentials have more than %d KiB, which IM doesn't accept", maxHeader>>10)

// lengthOf credentials, which is that of a header at least: a Secret has up to 1 MiB.
func lengthOf(credentials []Credential) (length int) {
	for _, c := range credentials {
		for field, value := range c {
			length += len(field) + len(value)
		}
	}
	return length
}

// quote a text as JSON.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, unit := range utf16.Encode([]rune(text)) {
		switch {
		case unit >= '0' && unit <= '9', unit >= 'A' && unit <= 'Z', unit >= 'a' && unit <= 'z':
			b.WriteByte(byte(unit))
		default:
			_, _ = fmt.Fprintf(&b, `\u%04x`, unit) // can't fail
		}
	}
	b.WriteByte('"')
	return b.String()
}
