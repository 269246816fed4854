// Package tag says how resources of the BMM API carry the engine's tags: VPCs and instances in labels; subnets, which
// have none, in their names.
package tag

import (
	"maps"
	"strings"

	"github.com/bedplate/bedplate/internal/graph"
)

// Labels that belong to Bedplate.
const (
	labelOwner = "bedplate-owner"
	labelKey   = "bedplate-key"
	labelToken = "bedplate-token"
)

// Labels are the user's labels and the tag of key.
func Labels[V ~string](user map[string]V, key graph.Key) map[string]string {
	labels := map[string]string{}
	for name, value := range user {
		labels[name] = string(value)
	}
	maps.Copy(labels, map[string]string{labelOwner: key.Owner, labelKey: key.Name, labelToken: key.Token})
	return labels
}

// FromLabels is the tag that a resource carries in its labels.
func FromLabels(labels map[string]string) graph.Tag {
	return graph.Tag{Owner: labels[labelOwner], Key: labels[labelKey], Token: labels[labelToken]}
}

// Name is the name of a resource without labels. Key names are KIND/NAME; the resource is called NAME-OWNER.
func Name(key graph.Key) string {
	_, name, _ := strings.Cut(key.Name, "/")
	return name + "-" + key.Owner
}

// FromName is the tag that a resource of a kind carries in its name. There is no room for the token.
func FromName(kind, name string) graph.Tag {
	dash := strings.LastIndex(name, "-")
	if dash < 0 {
		return graph.Tag{}
	}
	return graph.Tag{Owner: name[dash+1:], Key: kind + "/" + name[:dash]}
}
