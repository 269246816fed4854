// Package tag says how resources of the BMM API carry the engine's tags: those that have labels in labels, the others in
// their names.
package tag

import (
	"maps"
	"strings"

	"github.com/bedplate/bedplate/internal/graph"
)

// Labels that belong to Bedplate begin with this.
const reserved = "bedplate-"

const (
	labelOwner = reserved + "owner"
	labelKey   = reserved + "key"
	labelToken = reserved + "token"
)

// Labels are the user's labels and the tag of key.
func Labels[M ~map[string]V, V ~string](user M, key graph.Key) map[string]string {
	return With(user, map[string]string{labelOwner: key.Owner, labelKey: key.Name, labelToken: key.Token})
}

// With are the user's labels, and the tag that a resource carries already.
func With[M ~map[string]V, V ~string](user M, carried map[string]string) map[string]string {
	labels := map[string]string{}
	for name, value := range user {
		labels[name] = string(value)
	}
	for name, value := range carried {
		if strings.HasPrefix(name, reserved) {
			labels[name] = value
		}
	}
	return labels
}

// Without are the labels that aren't ours.
func Without(labels map[string]string) map[string]string {
	others := maps.Clone(labels)
	maps.DeleteFunc(others, func(name, _ string) bool { return strings.HasPrefix(name, reserved) })
	return others
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
