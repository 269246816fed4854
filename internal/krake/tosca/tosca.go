// Package tosca reads TOSCA templates: what a cluster's infrastructure consists of. It checks their structure only; whether types and
// properties are right is for the infrastructure manager to say. Templates come from tenants, so each is read within bounds.
package tosca

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

const (
	// maxDepth is how deep values may be in others.
	maxDepth = 64
	// maxValues is how many there may be, where an alias counts as what it stands for: a few lines of aliases can mean billions.
	maxValues = 100_000
	// maxMeant is how long all values may be together, in bytes, counted the same way.
	maxMeant = 1 << 20
	// maxKeys is how many keys a mapping may have: to find those that are there twice, each is compared with each. And maxCompared is how many
	// of all mappings are, in pairs, counted like values.
	maxKeys     = 2000
	maxCompared = 10_000_000
)

// Keys of the template's metadata that are ours. Templates that have been marked have OwnerKey.
const (
	OwnerKey = "bedplate_owner"
	hashKey  = "bedplate_hash"
)

// Template is safe for concurrent use.
type Template struct {
	text string
	mark Mark
	// top is what the text means, without our metadata.
	top     func() map[string]any
	outline func() *outline
}

// Mark is what a template carries of ours when it is sent, so that what it has made is found again.
type Mark struct {
	// Owner is whose infrastructure it is.
	Owner string
	// Hash is that of the template as its user has written it.
	Hash string
}

// Parse a template. The error says in which line it isn't YAML, or which bound it exceeds.
func Parse(text string) (*Template, error) {
	key := sha256.Sum256([]byte(text))
	if o, known := recall(key); known {
		return o.template(text), nil
	}
	t, err := parseWithin(text, 1)
	if err != nil {
		return nil, err
	}
	t.outline = sync.OnceValue(func() *outline { return remember(key, t.outlined()) })
	return t, nil
}

// parseWithin so many times the bounds.
func parseWithin(text string, times int) (*Template, error) {
	document, err := parse(text, times)
	if err != nil {
		return nil, err
	}
	mark := markOf(document.Content[0])
	asOldYAML(document)
	var top map[string]any
	if err := document.Decode(&top); err != nil {
		return nil, readable(err)
	}
	if metadata, ok := top["metadata"].(map[string]any); ok {
		delete(metadata, OwnerKey)
		delete(metadata, hashKey)
		if len(metadata) == 0 {
			delete(top, "metadata")
		}
	}
	return newTemplate(text, mark, top), nil
}

func newTemplate(text string, mark Mark, top map[string]any) *Template {
	t := &Template{text: text, mark: mark, top: func() map[string]any { return top }}
	t.outline = sync.OnceValue(t.outlined)
	return t
}

// markOf a template. An owner such as 12e345678901 may be a number to the YAML package, and is written without quotes by the infrastructure
// manager, to which it is a text: so texts count, whatever they mean.
func markOf(top *yaml.Node) (m Mark) {
	for field, value := range scalars(valueOf(top, "metadata")) {
		switch field {
		case OwnerKey:
			m.Owner = value
		case hashKey:
			m.Hash = value
		}
	}
	return m
}

// valueOf a key of a mapping; nil if there is none.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			if value := mapping.Content[i+1]; value.Kind != yaml.AliasNode {
				return value
			}
			return mapping.Content[i+1].Alias
		}
	}
	return nil
}

// scalars of a mapping, by their keys.
func scalars(mapping *yaml.Node) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if mapping == nil || mapping.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if value := mapping.Content[i+1]; value.Kind == yaml.ScalarNode && !yield(mapping.Content[i].Value, value.Value) {
				return
			}
		}
	}
}

// Read a template that an infrastructure manager has. All that was merged into it, and how it is written there, may have made it larger
// than one that can be parsed: then only its mark is known.
func Read(text string) (*Template, error) {
	t, err := Parse(text)
	if err == nil {
		return t, nil
	}
	mark := markIn(text)
	if mark.Owner == "" {
		return nil, err
	}
	return newTemplate(text, mark, nil), nil
}

// markIn a text, as both Marked and the infrastructure manager write it: each field in a line of its own. The text may be a long one of
// someone else's.
func markIn(text string) (m Mark) {
	inside, found := false, false
	for line := range strings.Lines(text) {
		switch {
		case inside && strings.HasPrefix(line, " "):
			found = true
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch value = strings.Trim(value, `'"`); field {
			case "  " + OwnerKey:
				m.Owner = value
			case "  " + hashKey:
				m.Hash = value
			}
		case found:
			return m
		default:
			inside = line == "metadata:\n"
		}
	}
	return m
}

// parse returns the only document of a text, which is a mapping, and within so many times the bounds.
func parse(text string, times int) (*yaml.Node, error) {
	if len(text) > times*krakev1.MaxTOSCA {
		return nil, fmt.Errorf("it has %d bytes, and may have %d", len(text), krakev1.MaxTOSCA)
	}
	documents := yaml.NewDecoder(strings.NewReader(text))
	var document, another yaml.Node
	switch err := documents.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it is empty")
	case err != nil:
		return nil, readable(err)
	}
	if err := documents.Decode(&another); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one YAML document")
	}
	if err := (&meant{times: times}).add(&document, 0); err != nil {
		return nil, err
	}
	if document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it isn't a YAML mapping")
	}
	return &document, nil
}

// meant is how much a template means, which may be so many times the bounds.
type meant struct{ values, bytes, compared, times int }

// add what a node means. An alias of what it is in has no end, and is too deep.
func (m *meant) add(n *yaml.Node, depth int) error {
	m.values++
	m.bytes += len(n.Value)
	switch {
	case m.values > m.times*maxValues:
		return fmt.Errorf("line %d: it has more than %d values, aliases resolved", n.Line, maxValues)
	case m.bytes > m.times*maxMeant:
		return fmt.Errorf("line %d: it has more than %d bytes, aliases resolved", n.Line, maxMeant)
	case depth > maxDepth:
		return fmt.Errorf("line %d: values are more than %d deep in others", n.Line, maxDepth)
	case n.Kind == yaml.AliasNode:
		return m.add(n.Alias, depth+1)
	case n.Kind == yaml.MappingNode:
		if err := checkKeys(n); err != nil {
			return err
		}
		if m.compared += len(n.Content) * len(n.Content) / 8; m.compared > m.times*maxCompared {
			return fmt.Errorf("line %d: all mappings together have too many keys, aliases resolved", n.Line)
		}
	}
	for _, child := range n.Content {
		if err := m.add(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys of a mapping. One with a tag may be another key to the infrastructure manager: it reads !!binary as bytes, and merges what has
// the tag !!merge, whatever its text is. So it does with an alias of <<, which is a key like others here. A list or a mapping is no key to
// it, and the YAML package panics where one is beside a <<.
func checkKeys(mapping *yaml.Node) error {
	if len(mapping.Content) > 2*maxKeys {
		return fmt.Errorf("line %d: a mapping has more than %d keys", mapping.Line, maxKeys)
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key is an alias, a list or a mapping: write a text", key.Line)
		}
		if key.Style&yaml.TaggedStyle != 0 && (key.ShortTag() != "!!merge" || key.Value != "<<") {
			return fmt.Errorf("line %d: a key has the tag %s: remove the tag", key.Line, key.ShortTag())
		}
	}
	return nil
}

// readable is an error of the YAML package in one line, without its name.
func readable(err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:")
	return errors.New(strings.Join(strings.Fields(text), " "))
}

// What plain texts mean to the infrastructure manager, which reads YAML 1.1, where that differs from what they mean here.
var (
	truths   = regexp.MustCompile(`^(yes|Yes|YES|on|On|ON)$`)
	untruths = regexp.MustCompile(`^(no|No|NO|off|Off|OFF)$`)
	// others are numbers in base 60 such as 22:30, and those that are texts there, such as 1e3 and 0o17.
	others = regexp.MustCompile(`^([-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[-+]?[0-9]+[eE][-+]?[0-9]+|0o[0-7]+)$`)
)

// asOldYAML makes a difference between such texts and what they would be taken for, so that putting quotes around one is a change.
func asOldYAML(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 {
		switch {
		case truths.MatchString(n.Value):
			n.Tag, n.Value = "!!bool", "true"
		case untruths.MatchString(n.Value):
			n.Tag, n.Value = "!!bool", "false"
		case others.MatchString(n.Value):
			n.Tag, n.Value = "!!str", "without quotes: "+n.Value
		}
	}
	for _, child := range n.Content {
		asOldYAML(child)
	}
}

// Hash is the same for templates that mean the same, whatever the order of their keys, comments, formatting and our metadata.
func (t *Template) Hash() string { return t.outline().hash }

func (t *Template) sum() string {
	text, err := yaml.Marshal(t.top()) // with sorted keys
	if err != nil {
		panic(fmt.Sprintf("marshal what was unmarshalled: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Equal says whether two templates mean the same.
func Equal(a, b *Template) bool { return a.Hash() == b.Hash() }

// Mark of a template that was read back.
func (t *Template) Mark() Mark { return t.mark }

// Marked is the template's text with the mark of its owner, and of what it is now. An error means that its metadata leaves no place.
func (t *Template) Marked(owner string) (text string, err error) {
	for _, rewrite := range []func(*yaml.Node){func(*yaml.Node) {}, simplify} {
		if text, err = t.marked(owner, rewrite); err == nil {
			break
		}
	}
	return text, err
}

func (t *Template) marked(owner string, rewrite func(*yaml.Node)) (string, error) {
	document, err := parse(t.text, 1)
	if err != nil {
		return "", err
	}
	metadata := child(document.Content[0], "metadata")
	if metadata.Kind == yaml.AliasNode { // what else it stands for stays as it is
		shared := *metadata.Alias
		shared.Anchor = ""
		*metadata = shared
	}
	if metadata.Kind != yaml.MappingNode {
		return "", errors.New("metadata must be a mapping")
	}
	metadata.Style = 0
	for _, field := range [][2]string{{OwnerKey, owner}, {hashKey, t.Hash()}} {
		value := child(metadata, field[0])
		value.SetString(field[1])
		value.Style = yaml.DoubleQuotedStyle // it may look like a number
	}
	rewrite(document)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(document); err != nil {
		return "", fmt.Errorf("write the template: %w", err)
	}
	marked, err := parseWithin(text.String(), 4) // other indentation may have made it longer
	if err != nil || marked.Mark() != (Mark{owner, t.Hash()}) || marked.Hash() != t.Hash() {
		return "", errors.New("metadata must be a mapping of its own, without << in the template's own mapping")
	}
	return text.String(), nil
}

// simplify what the YAML package may write so that it means something else, such as a block that begins with an empty line, or 22:30 and
// {a, b} in one line.
func simplify(n *yaml.Node) {
	switch {
	case n.Kind != yaml.ScalarNode:
		n.Style &^= yaml.FlowStyle
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		n.Style = n.Style&yaml.TaggedStyle | yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		simplify(child)
	}
}

// child of a mapping, which gets an empty mapping where it has none of that name.
func child(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	value := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, value)
	return value
}

// NodeTemplates are their names, sorted.
func (t *Template) NodeTemplates() []string { return t.outline().nodes }

// Removed are the node templates of before that after doesn't have.
func Removed(before, after *Template) []string {
	still := after.NodeTemplates()
	return slices.DeleteFunc(slices.Clone(before.NodeTemplates()), func(name string) bool { return slices.Contains(still, name) })
}

// mapping at a path, or nil.
func (t *Template) mapping(path ...string) map[string]any {
	here := t.top()
	for _, name := range path {
		here, _ = here[name].(map[string]any)
	}
	return here
}
