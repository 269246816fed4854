package optest

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// values makes what is written into fields.
type values struct {
	random *rand.Rand
	// known are good values by field, which a schema can't tell.
	known map[string][]any
	// except are fields that aren't written.
	except []string
}

// isExcepted reports whether a field, or what it lies in, isn't written.
func (v values) isExcepted(field string) bool {
	return slices.ContainsFunc(v.except, func(except string) bool {
		rest, lies := strings.CutPrefix(field, except)
		return lies && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// valid is a value that the schema allows; rules beyond it may refuse the value.
func (v values) valid(s *schema, field string) any {
	if known := v.known[field]; len(known) > 0 && v.random.IntN(4) > 0 {
		return known[v.random.IntN(len(known))]
	}
	if len(s.Enum) > 0 {
		return strings.Trim(string(s.Enum[v.random.IntN(len(s.Enum))].Raw), `"`)
	}
	switch s.Type {
	case "boolean":
		return v.random.IntN(2) == 0
	case "integer", "number":
		return v.integer(s)
	case "array":
		return v.list(s, field)
	case "object":
		return v.object(s, field)
	}
	return v.text(s)
}

// integer is at the bounds more often than elsewhere: these are what is wrong most often.
func (v values) integer(s *schema) int64 {
	low, high := int64(0), int64(1<<31-1)
	if s.Minimum != nil {
		low = int64(*s.Minimum)
	}
	if s.Maximum != nil {
		high = int64(*s.Maximum)
	}
	switch v.random.IntN(4) {
	case 0:
		return low
	case 1:
		return high
	}
	return low + v.random.Int64N(high-low+1)
}

func (v values) list(s *schema, field string) any {
	least, most := 1, 2
	if s.MinItems != nil {
		least = max(least, int(*s.MinItems))
	}
	if s.MaxItems != nil {
		most = min(most, int(*s.MaxItems))
	}
	list := []any{}
	for range least + v.random.IntN(max(most-least, 0)+1) {
		list = append(list, v.valid(s.Items.Schema, field+"[]"))
	}
	return list
}

// object has all required fields and some others.
func (v values) object(s *schema, field string) any {
	object := map[string]any{}
	for _, name := range sortedKeys(s.Properties) {
		of, field := s.Properties[name], strings.TrimPrefix(field+"."+name, ".")
		if slices.Contains(s.Required, name) || v.random.IntN(4) == 0 && !v.isExcepted(field) {
			object[name] = v.valid(&of, field)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		object[string(newKey)] = v.valid(s.AdditionalProperties.Schema, field+".*")
	}
	return object
}

const (
	shortest = 1
	longest  = 40 // unless more is needed
	attempts = 50
)

func (v values) text(s *schema) string {
	least, most := shortest, longest
	if s.MinLength != nil {
		least = int(*s.MinLength)
	}
	if s.MaxLength != nil {
		most = int(*s.MaxLength)
	}
	pattern := s.Pattern
	if pattern == "" {
		pattern = "[a-z][a-z0-9]{2,8}"
	}
	expression, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "any"
	}
	text := ""
	for range attempts {
		text = v.match(expression)
		if n := utf8.RuneCountInString(text); n >= least && n <= most {
			break
		}
	}
	return text
}

// match is a text that an expression matches, of printable ASCII as far as that is possible.
func (v values) match(e *syntax.Regexp) string {
	repeat := func(least, most int) string {
		var text strings.Builder
		for range least + v.random.IntN(most-least+1) {
			text.WriteString(v.match(e.Sub[0]))
		}
		return text.String()
	}
	switch e.Op {
	case syntax.OpLiteral:
		return string(e.Rune)
	case syntax.OpCharClass:
		return v.oneOf(e.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return v.oneOf([]rune{'a', 'z', '0', '9', '-', '-'})
	case syntax.OpStar:
		return repeat(0, 6)
	case syntax.OpPlus:
		return repeat(1, 6)
	case syntax.OpQuest:
		return repeat(0, 1)
	case syntax.OpRepeat:
		return repeat(e.Min, max(e.Max, e.Min))
	case syntax.OpCapture:
		return v.match(e.Sub[0])
	case syntax.OpAlternate:
		return v.match(e.Sub[v.random.IntN(len(e.Sub))])
	case syntax.OpConcat:
		var text strings.Builder
		for _, part := range e.Sub {
			text.WriteString(v.match(part))
		}
		return text.String()
	default: // anchors have no text
		return ""
	}
}

// oneOf the runes of a class, which is a list of ranges.
func (v values) oneOf(class []rune) string {
	var all []rune
	for i := 0; i+1 < len(class); i += 2 {
		for r := max(class[i], '!'); r <= min(class[i+1], '~'); r++ {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return string(class[0])
	}
	return string(all[v.random.IntN(len(all))])
}

// invalid is a value that the schema forbids; ok is false if it forbids none that is worth a try.
func (v values) invalid(s *schema, field string) (value any, ok bool) {
	var all []any
	switch s.Type {
	case "boolean":
		all = append(all, "yes")
	case "integer", "number":
		all = append(all, "many")
		if s.Minimum != nil {
			all = append(all, int64(*s.Minimum)-1)
		}
		if s.Maximum != nil {
			all = append(all, int64(*s.Maximum)+1)
		}
	case "string":
		all = append(all, int64(7))
		if len(s.Enum) > 0 {
			all = append(all, "no-such-value")
		}
		if s.Pattern != "" {
			all = append(all, "\n")
		}
		if s.MinLength != nil && *s.MinLength > 0 {
			all = append(all, strings.Repeat("a", int(*s.MinLength)-1))
		}
		if s.MaxLength != nil {
			all = append(all, strings.Repeat("a", int(*s.MaxLength)+1))
		}
	case "array":
		if s.MinItems != nil && *s.MinItems > 0 {
			all = append(all, []any{})
		}
		if s.XListType != nil && *s.XListType != "atomic" { // twice the same key
			element := v.valid(s.Items.Schema, field+"[]")
			all = append(all, []any{element, element})
		}
	case "object":
		all = append(all, "not an object")
		if len(s.Required) > 0 {
			all = append(all, map[string]any{})
		}
	}
	if len(all) == 0 {
		return nil, false
	}
	return all[v.random.IntN(len(all))], true
}
