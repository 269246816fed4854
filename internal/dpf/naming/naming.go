// Package naming makes names of objects that can't collide, and are short enough.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Bounds of names, in characters.
const (
	// Label is how long the value of a label may be.
	Label = 63
	// Object is how long the name of an object may be.
	Object = 253
	// Release is how long the name of a Helm release may be.
	Release = 53
)

const hashLength = 10

// Unique is a name of at most so many characters that is for people, and for one identity only: the parts that tell what it is, as far as
// they fit, and a hash of the identity. Parts of an identity are told from each other, whatever characters they have.
func Unique(bound int, readable string, identity ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(identity, "\x00")))
	hash := hex.EncodeToString(sum[:])[:hashLength]
	return Cut(readable, bound-hashLength-1) + "-" + hash
}

// Cut a name so that it stays one: it ends with a letter or a digit.
func Cut(name string, bound int) string {
	if len(name) > bound {
		name = name[:bound]
	}
	return strings.TrimRight(name, "-._")
}
