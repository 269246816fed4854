package optest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// operation is a change of a spec, as a user makes it: of one field, or of some at once.
type operation struct {
	// what was done, in words, and to which fields.
	what   string
	fields []string
	spec   map[string]any
}

// next is an operation on a spec. Earlier are specs that the object had before.
func (v values) next(s *schema, spec map[string]any, earlier []map[string]any) operation {
	if len(earlier) > 1 && v.random.IntN(8) == 0 {
		i := v.random.IntN(len(earlier) - 1)
		return operation{what: fmt.Sprintf("put back the spec of before (%d)", i), spec: earlier[i]}
	}
	edits := 1
	for edits < 3 && v.random.IntN(4) == 0 {
		edits++
	}
	o := operation{spec: spec}
	for range edits {
		all := places(s, any(o.spec), nil)
		p := all[v.random.IntN(len(all))]
		what, changed := v.edit(p, o.spec)
		if changed == nil || v.isExcepted(p.field()) {
			continue
		}
		if o.what != "" {
			o.what += ", "
		}
		o.what, o.fields, o.spec = o.what+what, append(o.fields, p.field()), changed
	}
	return o
}

// edit one place; nothing is returned where nothing would change.
func (v values) edit(p place, spec map[string]any) (what string, changed map[string]any) {
	var value any
	verb, ok := "", true
	switch dice := v.random.IntN(10); {
	case dice < 2:
		verb = "make invalid"
		value, ok = v.invalid(p.schema, p.field())
	case dice < 5 && p.present:
		verb = "take out"
	case p.present:
		verb = "change"
		value = v.other(p, at(spec, p.path))
	default:
		verb = "set"
		value = v.valid(p.schema, p.field())
	}
	if !ok {
		return "", nil
	}
	changed = put(spec, p.path, value).(map[string]any)
	if equal(changed, spec) {
		return "", nil
	}
	if verb == "take out" {
		return fmt.Sprintf("%s %s", verb, p), changed
	}
	text, _ := json.Marshal(value)
	return fmt.Sprintf("%s %s = %.200s", verb, p, text), changed
}

// other is a valid value in place of one that is there. A list may also have another order.
func (v values) other(p place, now any) any {
	if list, ok := now.([]any); ok && len(list) > 1 && v.random.IntN(2) == 0 {
		list = slices.Clone(list)
		slices.Reverse(list)
		return list
	}
	if s := p.schema; s.Type == "integer" && v.random.IntN(2) == 0 {
		if n, ok := now.(int64); ok {
			return n + 1
		}
	}
	var value any
	for range attempts {
		if value = v.valid(p.schema, p.field()); !equal(value, now) {
			break
		}
	}
	return value
}

// equal compares as JSON does: there all integers are of one type.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	one, err1 := json.Marshal(a)
	two, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(one) == string(two)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
