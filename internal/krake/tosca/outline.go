package tosca

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"k8s.io/utils/lru"
)

// outline is what each reconcile asks of a template. It is found out once for each text: to parse and to hash one of 20 KiB takes 10 ms,
// and a Cluster's is read in each poll, both its own and the one that its infrastructure manager has.
type outline struct {
	mark           Mark
	hash           string
	nodes          []string // names of the node templates, sorted
	imports, files []string
}

func (t *Template) outlined() *outline {
	return &outline{
		mark: t.mark, hash: t.sum(), nodes: slices.Sorted(maps.Keys(t.mapping("topology_template", "node_templates"))),
		imports: slices.Clone(t.imports()), // clones have no room for more
		files:   slices.Clone(slices.Compact(slices.Sorted(slices.Values(files(t.top()))))),
	}
}

// Outlines of so many texts are remembered, and none with more bytes of texts: they come from tenants.
const maxOutlines, maxOutline = 2048, 4096

// outlines by the hash of the text.
var outlines = lru.New(maxOutlines)

func recall(key [sha256.Size]byte) (*outline, bool) {
	o, known := outlines.Get(key)
	if !known {
		return nil, false
	}
	return o.(*outline), true
}

func remember(key [sha256.Size]byte, o *outline) *outline {
	size := len(o.mark.Owner) + len(o.mark.Hash)
	for _, text := range slices.Concat(o.nodes, o.imports, o.files) {
		size += len(text) + 16 // its header
	}
	if size <= maxOutline {
		outlines.Add(key, o)
	}
	return o
}

// template of the text, which was parsed before. Its values aren't kept: they take ten times as much as the text.
func (o *outline) template(text string) *Template {
	return &Template{
		text: text, mark: o.mark, outline: func() *outline { return o },
		top: sync.OnceValue(func() map[string]any {
			t, err := parseWithin(text, 1)
			if err != nil {
				panic("parse what was parsed before: " + err.Error())
			}
			return t.top()
		}),
	}
}
