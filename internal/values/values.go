// Package values counts the values of JSON before it is decoded, as an empty object in a list is 3 bytes and hundreds in memory; and
// what a decoded object takes there.
package values

// Scan counts what a text that may be JSON has read so far: its values, keys among them, and how deep it is now.
type Scan struct {
	Values, Depth   int
	quoted, escaped bool
}

// Take the next bytes, up to where the outermost value ends. It returns how many that are, and whether there are fewer than so many
// values yet, no deeper than depth.
func (s *Scan) Take(text []byte, values, depth int) (n int, ok bool) {
	for ; n < len(text); n++ {
		switch c := text[n]; {
		case s.escaped:
			s.escaped = false
		case c == '"':
			s.quoted = !s.quoted
		case s.quoted:
			s.escaped = c == '\\'
		case c == '{', c == '[':
			s.Values++
			s.Depth++
		case c == '}', c == ']':
			s.Depth--
		case c == ',', c == ':':
			s.Values++
		default:
			continue
		}
		switch {
		case s.Values >= values || s.Depth > depth:
			return n, false
		case s.Depth == 0 && !s.quoted:
			return n + 1, true
		}
	}
	return n, true
}

// Of a text that may be JSON, and whether there are fewer than so many, no deeper than depth.
func Of(text []byte, values, depth int) (n int, ok bool) {
	s := Scan{}
	for len(text) > 0 {
		taken, ok := s.Take(text, values, depth)
		if !ok {
			return s.Values, false
		}
		text = text[taken:]
	}
	return s.Values, true
}
