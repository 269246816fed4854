// Package tag says how virtual machines and images of PowerVS carry the engine's tags: as user tags.
package tag

import (
	"strings"

	"github.com/bedplate/bedplate/internal/graph"
)

const (
	owner = "bedplate-owner:"
	key   = "bedplate-key:"
	token = "bedplate-token:"
)

// Of are the user tags of what is made for a key.
func Of(k graph.Key) []string { return []string{owner + k.Owner, key + k.Name, token + k.Token} }

// From is the tag that user tags have; the zero Tag if they have none of ours. Case doesn't count, as anywhere at IBM Cloud.
func From(userTags []string) (t graph.Tag) {
	for _, text := range userTags {
		text = strings.ToLower(text)
		for prefix, field := range map[string]*string{owner: &t.Owner, key: &t.Key, token: &t.Token} {
			if value, is := strings.CutPrefix(text, prefix); is {
				*field = value
			}
		}
	}
	return t
}
