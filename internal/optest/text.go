package optest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Names are what is written instead of IDs, which are others in each world: "VPC demo".
type Names map[string]string

var timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`)

// Text of an object that exists outside: one line of JSON without times and without the fields that are named. It is the same in each world
// in which the same was made.
func (n Names) Text(kind string, object any, without ...string) string {
	value, isJSON := object.(map[string]any)
	if !isJSON {
		data, err := json.Marshal(object)
		if err != nil {
			return kind + " " + err.Error()
		}
		_ = json.Unmarshal(data, &value) // it was JSON just now
	}
	data, _ := json.Marshal(n.plain(value, n.Replacer(), without))
	return kind + " " + string(data)
}

// Replacer writes the names instead of the IDs.
func (n Names) Replacer() *strings.Replacer {
	pairs := make([]string, 0, 2*len(n))
	for _, id := range sortedKeys(n) {
		pairs = append(pairs, id, n[id])
	}
	return strings.NewReplacer(pairs...)
}

func (n Names) plain(value any, names *strings.Replacer, without []string) any {
	switch value := value.(type) {
	case map[string]any:
		plain := map[string]any{}
		for field, of := range value {
			if text, ok := of.(string); ok && timestamp.MatchString(text) || slices.Contains(without, field) {
				continue
			}
			plain[names.Replace(field)] = n.plain(of, names, without)
		}
		return plain
	case []any:
		plain := make([]any, 0, len(value))
		for _, of := range value {
			plain = append(plain, n.plain(of, names, without))
		}
		return plain
	case string:
		return names.Replace(value)
	}
	return value
}
