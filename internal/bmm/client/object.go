package client

import (
	"errors"
	"reflect"
	"strings"

	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// maxID bounds the ID of an object, in bytes. Most are UUIDs; those of machines have 59.
const maxID = 128

// inParts decodes itself from the stream of an answer, instead of from all of it at once.
type inParts interface{ decodeFrom(b *bounds.Body) error }

// decode an answer to a call, and fail if it isn't the requested object.
func decode(b *bounds.Body, out any, id string) error {
	if parts, ok := out.(inParts); ok {
		return parts.decodeFrom(b)
	}
	if err := b.Decode(out); err != nil {
		return err
	}
	return rightObject(out, id)
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
