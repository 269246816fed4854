// Package tag says how resources of the BMM API carry the engine's tags: those that have labels in labels, the others in
// their names.
package tag

import (
	"cmp"
	"strings"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Labels that belong to Bedplate begin with this.
const reserved = "bedplate-"

const (
	// LabelOwner has the ID of the object that a resource was made for.
	LabelOwner = reserved + "owner"
	labelKey   = reserved + "key"
	labelToken = reserved + "token"
)

// Labels are the user's labels and the tag of key.
func Labels[M ~map[string]V, V ~string](user M, key graph.Key) map[string]string {
	labels := map[string]string{LabelOwner: key.Owner, labelKey: key.Name, labelToken: key.Token}
	for name, value := range user {
		if !strings.HasPrefix(name, reserved) {
			labels[name] = string(value)
		}
	}
	return labels
}

// Kept are the labels of a resource that exists: the user's, and the tag of key. The token is that of the attempt that has made it,
// which may be an older one.
func Kept[M ~map[string]V, V ~string](user M, key graph.Key, found map[string]string) map[string]string {
	key.Token = cmp.Or(found[labelToken], key.Token)
	return Labels(user, key)
}

// FromLabels is the tag that a resource carries in its labels.
func FromLabels(labels map[string]string) graph.Tag {
	return graph.Tag{Owner: labels[LabelOwner], Key: labels[labelKey], Token: labels[labelToken]}
}

// Name is the name of a resource without labels. Key names are KIND/NAME; the resource is called NAME-OWNER.
func Name(key graph.Key) string {
	_, name, _ := strings.Cut(key.Name, "/")
	return name + "-" + key.Owner
}

// FromName is the tag that a resource of a kind carries in its name. There is no room for the token.
func FromName(kind, name string) graph.Tag {
	dash := strings.LastIndex(name, "-")
	if dash < 0 || !ledgers.IsOwnerID(name[dash+1:]) { // a name of another's, or one that was changed
		return graph.Tag{}
	}
	return graph.Tag{Owner: name[dash+1:], Key: kind + "/" + name[:dash]}
}
