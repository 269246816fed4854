package graph

import (
	"github.com/bedplate/bedplate/internal/graph/phases"
	"time"
)

// wish is what a spec says of one key, and what the key's Kind and the engine add to that. The zero wish wants nothing: what the
// ledger has under the key goes.
type wish struct {
	// wanted is false for a key that left the spec, and while the owner is deleted.
	wanted bool
	// deleting: everything of the owner's goes.
	deleting bool
	claim    claim
	// owner is the owner's ID outside, and key the name within its graph: the tag that proves a resource ours.
	owner, key string
	// fresh is the entry of a resource of which nothing is known.
	fresh entry
	// undeletable: only the user's own are of the kind.
	undeletable bool
	// within names the parts of the scope that it has to have, and lies is the scope of what the ledger has without one, if it is known.
	within []string
	lies   Scope
	// before is what it comes after and isn't ready; empty where nothing holds it up.
	before string
	// unproven is what to say of another one of the kind that spec or status show, if nothing says whose that is. It may be the one
	// that is wanted.
	unproven phases.Phase
	// generation of the owner that the spec has.
	generation int64
	ifLost     string
	// chooses: what is chosen for it is kept, also if it exists already.
	chooses bool
	// updates: it is compared with the spec. again: what was applied has to be applied once more.
	updates, again bool
	// tagged resources prove whose they are. Without tags only the ledger does.
	tagged    bool
	goneAfter time.Duration
	// repairs says that there is a remedy for what isn't ready, patience how long it may be on its way, and limits how often it is tried.
	repairs  bool
	patience time.Duration
	limits   Limits
	// leads is since when this process makes resources. What was attempted before was by another one, whose clock may differ.
	leads time.Time
	// settle, poll and slowly are those of the service.
	settle, poll, slowly time.Duration
	// moved: the credentials aren't those that the ledger names, until it is written.
	moved bool
}

// thing is what decide has to know of an outside resource.
type thing struct {
	id    string
	tag   Tag
	phase phases.Phase
}

// sight is what was seen of one key in this round. The zero sight has seen nothing yet.
type sight struct {
	// began is when the round did. What was seen is that new and not newer: a process may have been suspended since.
	began time.Time
	// failed is the call, or the write, after which the round ends.
	failed error
	// attempt is what this process knows of the attempt that the ledger names.
	attempt attempt
	// id that was looked up last, and object, which is nil where it is proven that there is none.
	id     string
	object *thing
	// list is what was found by tag and name; it counts if listed. Twice: it was looked for once more.
	list          []thing
	listed, twice bool
	turn          turnSight
	// token of an attempt that is prepared, and params that were chosen for it or for what exists.
	token  string
	params map[string]string
	chosen bool
	// changes, and refused, are what Update says, and inEffect what InEffect does; they count if compared.
	changes            []Change
	refused            error
	inEffect, compared bool
	// wrote: the ledger was written in this round, so what was read of it is the newest.
	wrote bool
	// asked are the IDs that were asked to go, and applied says that the changes were asked for.
	asked   []string
	applied bool
}

type turnSight int

const (
	turnUnasked turnSight = iota
	turnGranted
	turnQueued
)

// attempt is a create of which this process knows the answer, or that it is still at work.
type attempt struct {
	known, running bool
	id             string
	err            error
}

// verb is what a step does.
type verb string

const (
	// Looks, which change nothing.
	lookByID   verb = "look by ID"
	lookByName verb = "look by tag and name"
	lookUp     verb = "look up what the spec names"
	compare    verb = "compare with the spec"
	pick       verb = "choose"
	takeTurn   verb = "take a turn"
	prepare    verb = "prepare"
	// Writes of the ledger.
	bind    verb = "bind"
	adopt   verb = "adopt"
	use     verb = "use"
	note    verb = "note"
	refuse  verb = "note the refusal"
	release verb = "release"
	forget  verb = "forget"
	// Calls that change something outside. What they intend is written before.
	create verb = "create"
	change verb = "change"
	remedy verb = "repair"
	remove verb = "delete"
	// Ends of a round.
	waitBefore verb = "wait for what comes before"
	wait       verb = "wait"
	fail       verb = "fail"
	done       verb = "done"
	gone       verb = "gone"
)

// step is what comes next for one key.
type step struct {
	verb verb
	// id that is looked up or deleted, and title that is looked for, in a scope.
	id, title string
	in        Scope
	// entry is what the ledger says of the key from then on; nil takes the key out.
	entry *entry
	// phase in which the round ends, if it ends with this step; shows says that it is the resource's own.
	phase       phases.Phase
	ends, shows bool
}

// looks reports whether a step changes nothing.
func (s step) looks() bool {
	switch s.verb {
	case lookByID, lookByName, lookUp, compare, pick, takeTurn, prepare:
		return true
	}
	return false
}

func ends(p phases.Phase) step {
	v := wait
	switch p.State {
	case phases.StateReady:
		v = done
	case phases.StateFailed:
		v = fail
	}
	return step{verb: v, phase: p, ends: true}
}

// show ends with how the resource is.
func show(o thing) step {
	s := ends(o.phase)
	s.shows = true
	return s
}
