// Package mirror converts between the structs of a kind and protobuf messages that have the same fields. It pairs them by
// name, once, and fails if one has a field that the other lacks: so they can't drift apart.
package mirror

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mirror is the pairs of a struct's fields with a message's. It is immutable.
type Mirror struct{ pairs []pair }

type pair struct {
	index   int    // in the struct
	name    string // in JSON
	field   protoreflect.FieldDescriptor
	message *Mirror // of what is in it, where that is messages
	enum    *enum   // where it is an enum
}

var timeType = reflect.TypeFor[metav1.Time]()

// New pairs a struct type with a message. Words are the values of the struct's enums as they are spelled there.
func New(t reflect.Type, message protoreflect.MessageDescriptor, words []string) (*Mirror, error) {
	m, fields := &Mirror{}, message.Fields()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		p := pair{index: i, name: name, field: find(fields, name)}
		if p.field == nil {
			return nil, fmt.Errorf("%s has no field for %s.%s", message.FullName(), t, name)
		}
		if err := p.pair(t.Field(i).Type, words); err != nil {
			return nil, err
		}
		m.pairs = append(m.pairs, p)
	}
	for i := range fields.Len() {
		if !slices.ContainsFunc(m.pairs, func(p pair) bool { return p.field == fields.Get(i) }) {
			return nil, fmt.Errorf("%s has no field for %s", t, fields.Get(i).FullName())
		}
	}
	return m, nil
}

// plain is a name without the differences in spelling: hostIP and host_ip.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

func find(fields protoreflect.FieldDescriptors, name string) protoreflect.FieldDescriptor {
	for i := range fields.Len() {
		if plain(string(fields.Get(i).Name())) == plain(name) {
			return fields.Get(i)
		}
	}
	return nil
}

func (p *pair) pair(t reflect.Type, words []string) (err error) {
	if p.field.IsList() != (t.Kind() == reflect.Slice) {
		return fmt.Errorf("%s: only one of it and %s is a list", p.field.FullName(), t)
	}
	if p.field.IsList() {
		t = t.Elem()
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch p.field.Kind() {
	case protoreflect.MessageKind:
		if t == timeType && p.field.Message().FullName() == "google.protobuf.Timestamp" {
			return nil
		}
		if t.Kind() != reflect.Struct {
			break
		}
		p.message, err = New(t, p.field.Message(), words)
		return err
	case protoreflect.EnumKind:
		if t.Kind() != reflect.String {
			break
		}
		p.enum, err = newEnum(p.field.Enum(), words)
		return err
	default:
		if scalars[p.field.Kind()] == t.Kind() {
			return nil
		}
	}
	return fmt.Errorf("%s is a %s, but here a %s", p.field.FullName(), p.field.Kind(), t)
}

var scalars = map[protoreflect.Kind]reflect.Kind{
	protoreflect.StringKind: reflect.String,
	protoreflect.BoolKind:   reflect.Bool,
	protoreflect.Int32Kind:  reflect.Int32,
	protoreflect.Int64Kind:  reflect.Int64,
	protoreflect.Uint32Kind: reflect.Uint32,
	protoreflect.Uint64Kind: reflect.Uint64,
}

// ToMessage fills an empty message from a struct.
func (m *Mirror) ToMessage(from reflect.Value, into protoreflect.Message) {
	for _, p := range m.pairs {
		value := from.Field(p.index)
		if value.IsZero() {
			continue
		}
		if !p.field.IsList() {
			into.Set(p.field, p.toMessage(value, into.NewField(p.field)))
			continue
		}
		list := into.Mutable(p.field).List()
		for i := range value.Len() {
			list.Append(p.toMessage(value.Index(i), list.NewElement()))
		}
	}
}

// toMessage fills fresh if that is a message; otherwise it returns another value.
func (p *pair) toMessage(value reflect.Value, fresh protoreflect.Value) protoreflect.Value {
	value = reflect.Indirect(value)
	switch {
	case p.message != nil:
		p.message.ToMessage(value, fresh.Message())
		return fresh
	case p.enum != nil:
		return protoreflect.ValueOfEnum(p.enum.numbers[value.String()])
	case value.Type() == timeType:
		return protoreflect.ValueOfMessage(timestamppb.New(value.Interface().(metav1.Time).Time).ProtoReflect())
	case value.Kind() == reflect.String:
		return protoreflect.ValueOfString(value.String())
	}
	return protoreflect.ValueOf(value.Interface())
}

// UnknownError means that a message has a value that this program doesn't know, or can't be written.
type UnknownError struct {
	// Field is the way to it in the message, such as rules[0].protocol.
	Field, Problem string
}

// Error names the field.
func (e *UnknownError) Error() string { return e.Field + ": " + e.Problem }

// FromMessage fills an empty struct from a message. The error is an UnknownError.
func (m *Mirror) FromMessage(from protoreflect.Message, into reflect.Value) error {
	if unknown := from.GetUnknown(); len(unknown) > 0 {
		return &UnknownError{Problem: "has fields that this version of the proxy doesn't know"}
	}
	for _, p := range m.pairs {
		if !from.Has(p.field) {
			continue
		}
		target, value := into.Field(p.index), from.Get(p.field)
		if !p.field.IsList() {
			if err := p.fromMessage(value, target); err != nil {
				return within(string(p.field.Name()), err)
			}
			continue
		}
		target.Set(reflect.MakeSlice(target.Type(), value.List().Len(), value.List().Len()))
		for i := range value.List().Len() {
			if err := p.fromMessage(value.List().Get(i), target.Index(i)); err != nil {
				return within(fmt.Sprintf("%s[%d]", p.field.Name(), i), err)
			}
		}
	}
	return nil
}

func within(field string, err *UnknownError) *UnknownError {
	return &UnknownError{strings.TrimSuffix(field+"."+err.Field, "."), err.Problem}
}

func (p *pair) fromMessage(value protoreflect.Value, into reflect.Value) *UnknownError {
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	switch {
	case p.message != nil:
		if err, failed := p.message.FromMessage(value.Message(), into).(*UnknownError); failed { //nolint:errorlint // it is never wrapped
			return err
		}
	case p.enum != nil:
		word, known := p.enum.words[value.Enum()]
		if !known {
			return &UnknownError{Problem: fmt.Sprintf("has a value that this version of the proxy doesn't know, %d", value.Enum())}
		}
		into.SetString(word)
	case into.Type() == timeType:
		at := value.Message().Interface().(*timestamppb.Timestamp).AsTime()
		into.Set(reflect.ValueOf(metav1.NewTime(at.Truncate(time.Second))))
	default:
		into.Set(reflect.ValueOf(value.Interface()).Convert(into.Type()))
	}
	return nil
}

// Differences are the message's names of the fields that two structs differ in.
func (m *Mirror) Differences(a, b reflect.Value) (names []string) {
	for _, p := range m.pairs {
		if !equality.Semantic.DeepEqual(a.Field(p.index).Interface(), b.Field(p.index).Interface()) {
			names = append(names, string(p.field.Name()))
		}
	}
	return names
}

// Path is the message's name for a path of the struct in JSON: network.prefixLength is network.prefix_length. What isn't
// known stays as it is.
func (m *Mirror) Path(path string) string {
	if m == nil || path == "" {
		return path
	}
	step, rest, _ := strings.Cut(path, ".")
	name, index, _ := strings.Cut(step, "[")
	for _, p := range m.pairs {
		if p.name != name {
			continue
		}
		translated := string(p.field.Name())
		if index != "" {
			translated += "[" + index
		}
		if rest == "" {
			return translated
		}
		return translated + "." + p.message.Path(rest)
	}
	return path
}
