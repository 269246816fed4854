package credentials

import "crypto/sha256"

// Account identifies a login at a server: clients of the same account get the same answers, whichever Secrets they come
// from.
type Account [sha256.Size]byte
