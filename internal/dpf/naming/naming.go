// Package naming makes names of objects that can't collide, and are short enough.
package naming

import (
	"crypto/sha256"
	"encoding/base32"
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

// hashLength in characters of 5 bits. An identity has parts that a tenant chooses, such as the name of a DPUService: 100 bits are beyond a
// search for two identities of one name, which 40 bits are not.
const hashLength = 20

// encoding has lower case letters and digits alone, as the names of objects.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")

// Unique is a name of at most so many characters that is for people, and for one identity only: the parts that tell what it is, as far as
// they fit, and a hash of the identity. Parts of an identity are told from each other, whatever characters they have.
func Unique(bound int, readable string, identity ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(identity, "\x00")))
	hash := encoding.EncodeToString(sum[:])[:hashLength]
	return Cut(readable, bound-hashLength-1) + "-" + hash
}

// Cut a name so that it stays one: it ends with a letter or a digit.
func Cut(name string, bound int) string {
	if len(name) > bound {
		name = name[:bound]
	}
	return strings.TrimRight(name, "-._")
}
