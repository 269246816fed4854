package userdata

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

var (
	rendered    = regexp.MustCompile(`\{[{%#]`)
	statements  = regexp.MustCompile(`\{[%#]`)
	expressions = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	lookups     = regexp.MustCompile(`^\{\{[-+]?\s*[\w.]+\s*[-+]?\}\}$`)
	mimeHeader  = regexp.MustCompile(`(?im)^mime-version:`)
)

// same reports whether a machine reads the same in both, of which one is what the service has made of the other.
func same(before, after string) bool {
	if json.Valid([]byte(before)) {
		return sameJSON(before, after)
	}
	h := newHeaders(before)
	switch {
	case h.contentType == "" && mimeHeader.MatchString(before): // its empty lines matter
		return false
	case h.rendered != cloudConfig && h.rendered != "": // no YAML to the machine
		return false
	case !slices.Equal(h.lines, newHeaders(after).lines):
		return false
	case h.template && !sameJinja(before, after):
		return false
	}
	a, b := onlyDocument(before), onlyDocument(after)
	return a != nil && b != nil && sameYAML(a, b, h.template)
}

// sameJinja reports whether in two templates the same is rendered. Statements and comments take the space around them along,
// so the same text may become another one.
func sameJinja(before, after string) bool {
	return !statements.MatchString(before) && !statements.MatchString(after) &&
		len(rendered.FindAllString(before, -1)) == len(rendered.FindAllString(after, -1)) &&
		slices.Equal(expressions.FindAllString(before, -1), expressions.FindAllString(after, -1))
}

// dependsOnIndent reports whether what is rendered may go with how far its line is indented, such as {{ x | indent(6) }}.
func dependsOnIndent(n *yaml.Node) bool {
	return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 &&
		slices.ContainsFunc(expressions.FindAllString(n.Value, -1), func(e string) bool { return !lookups.MatchString(e) })
}

func sameJSON(before, after string) bool {
	value := func(text string) (value any) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		_ = decoder.Decode(&value) // can't fail: it is valid
		return value
	}
	return json.Valid([]byte(after)) && reflect.DeepEqual(value(before), value(after))
}

// onlyDocument is nil if there are several, or what follows isn't YAML.
func onlyDocument(text string) *yaml.Node {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	document, next := &yaml.Node{}, &yaml.Node{}
	if decoder.Decode(document) != nil || !errors.Is(decoder.Decode(next), io.EOF) {
		return nil
	}
	return document
}

// sameYAML reports whether two nodes have the same value to every version of YAML: what isn't quoted stays so. In a template
// what is rendered must be in the same quotes as before.
func sameYAML(a, b *yaml.Node, template bool) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || a.Anchor != b.Anchor ||
		len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode {
		if isPlain(a) != isPlain(b) || template && rendered.MatchString(a.Value) && (a.Style != b.Style || dependsOnIndent(a)) {
			return false
		}
	}
	for i := range a.Content {
		if !sameYAML(a.Content[i], b.Content[i], template) {
			return false
		}
	}
	return true
}

func isPlain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}
