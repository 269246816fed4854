package decide

import (
	"fmt"
	"strings"
	"time"
)

// Claim says how a key gets its resource. The zero claim makes it.
type Claim struct {
	// Uses: it is the user's own, by an ID or a lookup; ID is the one, if it was given.
	Uses bool
	ID   string
	// Title is the name outside under which the user's own is used, or one is made. Made: what has the title and isn't ours is in the way.
	Title string
	Made  bool
}

// letsGo reports whether a resource of the user's own can't be what is claimed.
func (c Claim) letsGo(id string) bool {
	return (!c.Uses && (c.Title == "" || c.Made)) || (c.ID != "" && c.ID != id)
}

// renames reports whether another name is claimed than a resource was made or taken under.
func (c Claim) renames(title string) bool { return c.Title != "" && title != "" && c.Title != title }

// Tag is what a resource carries to be found again: in labels where the API has them, else in its name. What an API has
// no room for is empty.
type Tag struct {
	Owner, Key, Token string
}

// Limits of how often a remedy is tried: the second time after a poll interval, then each time after twice as long, and from the
// beginning when the spec changes.
type Limits struct {
	// Most is how often, at most.
	Most int
	// Within is how long after it was first seen not to be ready; 0 is without end.
	Within time.Duration
}

// Change is one difference between what is and what is wanted, for people.
type Change struct {
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// String is "FIELD: FROM → TO".
func (c Change) String() string {
	switch {
	case c.From == "":
		return fmt.Sprintf("%s: add %s", c.Field, c.To)
	case c.To == "":
		return fmt.Sprintf("%s: remove %s", c.Field, c.From)
	}
	return fmt.Sprintf("%s: %s → %s", c.Field, c.From, c.To)
}

// summary names the changes, in a line that isn't too long for a condition.
func summary(changes []Change) string {
	const most = 5
	var texts []string
	for _, c := range changes[:min(len(changes), most)] {
		texts = append(texts, c.String())
	}
	if more := len(changes) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
