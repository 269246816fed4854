package ovn

import (
	"crypto/sha256"
	"encoding/hex"
)

// Keys of external_ids. A row with an owner is changed and deleted by that owner alone.
const (
	// OwnerID is the owner of a row.
	OwnerID = "bedplate.dev/owner"
	// KeyID distinguishes the rows of one owner in one table. It stays when a row's name changes.
	KeyID = "bedplate.dev/key"
)

// Mark is the external_ids of a wanted row.
func Mark(owner, key string) map[string]string {
	return map[string]string{OwnerID: owner, KeyID: key}
}

// Ref stands for the UUID of a wanted row, in the row's own UUID and wherever another wanted row refers to it. Rows of
// different tables have different keys.
func Ref(key string) string {
	// OVSDB requires the name of a UUID to be an identifier.
	sum := sha256.Sum256([]byte(key))
	return "row_" + hex.EncodeToString(sum[:16])
}
