package cluster

import (
	"fmt"
	"maps"
	"slices"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/graph"
)

// change is what to write into a field, and records it; nil if the field has it already.
func change[T comparable](changes *[]graph.Change, field string, from, to T) *T {
	if from == to {
		return nil
	}
	*changes = append(*changes, graph.Change{Field: field, From: fmt.Sprint(from), To: fmt.Sprint(to)})
	return &to
}

// labelChanges are the labels to write, and what is different. A resource of ours has exactly the labels of the spec, and its tag.
func labelChanges(spec infrav1.ResourceLabels, key graph.Key, found bmm.Labels) (bmm.Labels, []graph.Change) {
	wanted := tag.Kept(spec, key, found)
	return wanted, textChanges("label ", wanted, found)
}

// textChanges are the differences of named texts.
func textChanges(prefix string, wanted, found map[string]string) []graph.Change {
	names := maps.Clone(wanted)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, found)
	var changes []graph.Change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if wanted[name] != found[name] {
			changes = append(changes, graph.Change{Field: prefix + name, From: found[name], To: wanted[name]})
		}
	}
	return changes
}
