package decide

import (
	"fmt"
	"strings"
	"time"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// Claim is how a key gets its resource. The zero claim creates it.
type Claim struct {
	// Uses: it is the user's own, by an ID or a lookup; ID is set if it was given.
	Uses bool
	ID   string
	// Title is the name outside under which the user's own is used, or one is created, or by which what Uses means is looked up. Made:
	// another resource with the title is a conflict.
	Title string
	Made  bool
}

// letsGo reports whether a resource of the user's own isn't the one claimed, so that it is released.
func (c Claim) letsGo(e *ledgerv1.Entry) bool {
	if c.ID != "" {
		return c.ID != e.ID
	}
	return !c.Uses && !c.optional() || c.renames(e.Title)
}

// optional reports whether it uses what has the title, and creates it if there is none.
func (c Claim) optional() bool { return !c.Uses && !c.Made && c.Title != "" }

// renames reports whether the claim has another name than the resource was created or taken under.
func (c Claim) renames(title string) bool { return c.Title != "" && title != "" && c.Title != title }

// Tag identifies a resource outside: in labels if the API has them, else in its name. Fields that the API has no room
// for are empty.
type Tag struct {
	Owner, Key, Token string
}

// Limits how often a remedy is tried: the second time after a poll interval, then with doubling pauses, and from the start when
// the spec changes.
type Limits struct {
	// Most is the maximum number of tries.
	Most int
	// Within is how long after it was first seen unready; 0 sets no limit.
	Within time.Duration
}

// Change is one difference between the actual and the wanted state, in readable form.
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

// summary names the changes, in a line short enough for a condition.
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
