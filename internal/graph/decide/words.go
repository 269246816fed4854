package decide

import (
	"time"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Wish is what a spec says of one key, and what the key's Kind and the engine add to that. The zero wish wants nothing: what the
// ledger has under the key goes.
type Wish struct {
	// Wanted is false for a key that left the spec, and while the owner is deleted.
	Wanted bool
	// Deleting: everything of the owner's goes.
	Deleting bool
	Claim    Claim
	// Owner is the owner's ID outside, and Key the name within its graph: the tag that proves a resource ours.
	Owner, Key string
	// Fresh is the entry of a resource of which nothing is known.
	Fresh ledgerv1.Entry
	// Undeletable: only the user's own are of the kind.
	Undeletable bool
	// Yours: the ledger has it as the user's own under another key, too. Ours are the keys of what it has of this kind as ours under
	// other keys, by their IDs.
	Yours bool
	Ours  map[string]string
	// Within names the parts of the scope that it has to have, and Lies is the scope of what the ledger has without one, if it is known.
	Within []string
	Lies   ledgerv1.Scope
	// Before is what it comes after and isn't ready; empty where nothing holds it up.
	Before string
	// Unproven is what to say of another one of the kind that spec or status show, if nothing says whose that is. It may be the one
	// that is wanted.
	Unproven phases.Phase
	// Generation of the owner that the spec has.
	Generation int64
	IfLost     string
	// Chooses: what is chosen for it is kept, also if it exists already.
	Chooses bool
	// Updates: it is compared with the spec. Again: what was applied has to be applied once more.
	Updates, Again bool
	// Tagged resources prove whose they are. Without tags only the ledger does.
	Tagged    bool
	GoneAfter time.Duration
	// Repairs says that there is a remedy for what isn't ready, Patience how long it may be on its way, and Limits how often it is tried.
	Repairs  bool
	Patience time.Duration
	Limits   Limits
	// Leads is since when this process makes resources. What was attempted before was by another one, whose clock may differ.
	Leads time.Time
	// Settle, Poll and Slowly are those of the service.
	Settle, Poll, Slowly time.Duration
	// Moved: the credentials aren't those that the ledger names, until it is written.
	Moved bool
}

// Thing is what decide has to know of an outside resource.
type Thing struct {
	ID    string
	Tag   Tag
	Phase phases.Phase
}

// Sight is what was seen of one key in this round. The zero sight has seen nothing yet.
type Sight struct {
	// Began is when the round did. What was seen is that new and not newer: a process may have been suspended since.
	Began time.Time
	// Failed is the call, or the write, after which the round ends.
	Failed error
	// Attempt is what this process knows of the attempt that the ledger names.
	Attempt Attempt
	// ID that was looked up last, and Object, which is nil where it is proven that there is none.
	ID     string
	Object *Thing
	// List is what was found by tag and name; it counts if Listed. Twice: it was looked for once more.
	List          []Thing
	Listed, Twice bool
	Turn          TurnSight
	// Token of an attempt that is prepared, and Params that were chosen for it or for what exists.
	Token  string
	Params map[string]string
	Chosen bool
	// Changes, and Refused, are what Update says, and InEffect what that says; they count if Compared.
	Changes            []Change
	Refused            error
	InEffect, Compared bool
	// Wrote: the ledger was written in this round, so what was read of it is the newest.
	Wrote bool
	// Asked are the IDs that were asked to go, Applied says that the changes were made, and Remedied that a remedy was.
	Asked             []string
	Applied, Remedied bool
}

// TurnSight is whether it is this owner's turn to create.
type TurnSight int

// Answers to that.
const (
	TurnUnasked TurnSight = iota
	TurnGranted
	TurnQueued
)

// Attempt is a create of which this process knows the answer, or that it is still at work.
type Attempt struct {
	Known, Running bool
	ID             string
	Err            error
}

// MaxSteps bounds a round: it always comes to an end well before that.
const MaxSteps = 64

// Verb is what a step does.
type Verb string

// Verbs of a step.
const (
	// Looks, which change nothing.
	LookByID   Verb = "look by ID"
	LookByName Verb = "look by tag and name"
	LookUp     Verb = "look up what the spec names"
	Compare    Verb = "compare with the spec"
	Pick       Verb = "choose"
	TakeTurn   Verb = "take a turn"
	Prepare    Verb = "prepare"
	// Writes of the ledger.
	Bind    Verb = "bind"
	Adopt   Verb = "adopt"
	Use     Verb = "use"
	Note    Verb = "note"
	Refuse  Verb = "note the refusal"
	Release Verb = "release"
	Forget  Verb = "forget"
	// Calls that change something outside. What they intend is written before.
	Create Verb = "create"
	Apply  Verb = "change"
	Remedy Verb = "repair"
	Remove Verb = "delete"
	// Ends of a round.
	WaitBefore Verb = "wait for what comes before"
	Wait       Verb = "wait"
	Fail       Verb = "fail"
	Done       Verb = "done"
	Gone       Verb = "gone"
)

// Step is what comes next for one key.
type Step struct {
	Verb Verb
	// ID that is looked up or deleted, and Title that is looked for, in a scope.
	ID, Title string
	In        ledgerv1.Scope
	// Entry is what the ledger says of the key from then on; nil takes the key out.
	Entry *ledgerv1.Entry
	// Phase in which the round ends, if it ends with this step; Shows says that it is the resource's own.
	Phase       phases.Phase
	Ends, Shows bool
}

// looks reports whether a step changes nothing.
func (s Step) looks() bool {
	switch s.Verb {
	case LookByID, LookByName, LookUp, Compare, Pick, TakeTurn, Prepare:
		return true
	}
	return false
}

func ends(p phases.Phase) Step {
	v := Wait
	switch p.State {
	case phases.StateReady:
		v = Done
	case phases.StateFailed:
		v = Fail
	}
	return Step{Verb: v, Phase: p, Ends: true}
}

// show ends with how the resource is.
func show(o Thing) Step {
	s := ends(o.Phase)
	s.Shows = true
	return s
}
