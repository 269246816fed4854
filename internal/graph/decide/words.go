package decide

import (
	"time"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Wish is what a spec says of one key, and what the key's Kind and the engine add to that. The zero wish wants nothing: what the
// ledger has under the key is deleted.
type Wish struct {
	// Wanted is false for a key that left the spec, and while the owner is deleted.
	Wanted bool
	// Deleting: everything of the owner is deleted.
	Deleting bool
	Claim    Claim
	// Owner is the owner's ID outside, and Key the name within its graph: the tag that proves a resource ours.
	Owner, Key string
	// New: the owner's ID is new, so nothing can carry it.
	New bool
	// Fresh is the entry of a resource before anything is known of it.
	Fresh ledgerv1.Entry
	// Undeletable: the kind has only resources of the user's own.
	Undeletable bool
	// Ledger has the entries under all keys, read when they are needed. Named are the IDs that the spec names as the user's own, of
	// this Kind; Unnamed is a key under which it names one by a lookup that isn't answered: that may be any.
	Ledger  map[string]*ledgerv1.Entry
	Named   []string
	Unnamed string
	Kind    string
	// Released are the IDs that the ledger has had as the user's own and doesn't have now, of a Kind without tags.
	Released []string
	// Within names the required parts of the scope; Lies is the scope, if it is known, of a resource that has none in the ledger.
	Within []string
	Lies   ledgerv1.Scope
	// Before is what it comes after that isn't ready; empty if nothing holds it up.
	Before string
	// Unproven are the phases, by ID, of resources of the kind that spec or status show, and of which nothing proves whose they are.
	// One of them may be the one that is wanted.
	Unproven map[string]phases.Phase
	// Generation of the owner's spec, and of what the resource is made with beside it.
	Generation int64
	IfLost     string
	// Chooses: what is chosen for it is kept, also if it exists already.
	Chooses bool
	// Updates: it is compared with the spec. Again: changes have to be applied once more.
	Updates, Again bool
	// Tagged: the resource's tag proves whose it is. Without tags only the ledger does.
	Tagged    bool
	GoneAfter time.Duration
	// Repairs says that there is a remedy for what isn't ready, Patience how long it may be in progress, and Limits how often it is
	// tried.
	Repairs  bool
	Patience time.Duration
	Limits   Limits
	// Leads is since when this process creates resources. Earlier attempts were by another process, whose clock may differ.
	Leads time.Time
	// Settle, Poll and Slowly are those of the service.
	Settle, Poll, Slowly time.Duration
	// Moved: the ledger names other credentials, until it is written.
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
	// Began is when the round started. What was seen counts as of then: the process may have been suspended since.
	Began time.Time
	// Failed is the call, or the write, after which the round ends.
	Failed error
	// Attempt is what this process knows of the attempt in the ledger.
	Attempt Attempt
	// ID that was looked up last, and Object, which is nil if it is proven that there is none.
	ID     string
	Object *Thing
	// Gone are the IDs that are proven to be gone since the last create, whatever a list shows that is behind; none where the service may
	// bring them back. What another key has seen doesn't count: that was earlier, and may have been in another scope.
	Gone []string
	// List is what was found by tag and name, if Listed. Twice: it was listed a second time.
	List          []Thing
	Listed, Twice bool
	// Earlier are the IDs that an earlier list of this round has shown.
	Earlier []string
	// Sought are the IDs that were found, in two lists each, by what other attempts would have named theirs, by their keys; nil if
	// they weren't searched for.
	Sought map[string][]string
	Turn   TurnSight
	// Token of a prepared attempt, and Params that were chosen for it or for an existing resource.
	Token  string
	Params map[string]string
	Chosen bool
	// Changes and Refused come from Update, InEffect from that function; they count if Compared.
	Changes            []Change
	Refused            error
	InEffect, Compared bool
	// Wrote: the ledger was written in this round, so it is the newest.
	Wrote bool
	// Asked are the IDs whose deletion was requested; Applied: the changes were made; Remedied: a remedy was tried.
	Asked             []string
	Applied, Remedied bool
}

// TurnSight reports whether it is this owner's turn to create.
type TurnSight int

// Answers to that.
const (
	TurnUnasked TurnSight = iota
	TurnGranted
	TurnQueued
)

// Attempt is a create of which this process knows the answer, or that it is still running.
type Attempt struct {
	Known, Running bool
	ID             string
	Err            error
}

// ReasonNameTaken is the reason of what waits until ours under another key is gone, because that has its name.
const ReasonNameTaken = "NameTaken"

// ReasonClaimChanged is the reason of what the spec asks for differently than it was created.
const ReasonClaimChanged = "ClaimChanged"

// ReasonUnnamed is the reason of what isn't deleted before a lookup is answered.
const ReasonUnnamed = "Unnamed"

// MaxSteps bounds a round, which always ends well before that, but for what lists show that is gone, or is a double.
const MaxSteps = 64

// Verb is what a step does.
type Verb string

// Verbs of a step.
const (
	// Reads, which change nothing.
	LookByID   Verb = "look by ID"
	LookByName Verb = "look by tag and name"
	LookUp     Verb = "look up what the spec names"
	Seek       Verb = "look by the names of other attempts"
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
	// Calls that change something outside. The intention is written before.
	Create Verb = "create"
	Apply  Verb = "change"
	Remedy Verb = "repair"
	Remove Verb = "delete"
	// Steps that end a round.
	WaitBefore Verb = "wait for what comes before"
	Wait       Verb = "wait"
	Fail       Verb = "fail"
	Done       Verb = "done"
	Gone       Verb = "gone"
)

// Step is what comes next for one key.
type Step struct {
	Verb Verb
	// ID to get or delete, and Title to search for, in a scope.
	ID, Title string
	In        ledgerv1.Scope
	// Entry is the key's new entry in the ledger; nil removes the key.
	Entry *ledgerv1.Entry
	// Phase in which the round ends, if it ends with this step. Shows: it is the resource's own phase.
	Phase       phases.Phase
	Ends, Shows bool
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

// show ends the round with the resource's own phase.
func show(o Thing) Step {
	s := ends(o.Phase)
	s.Shows = true
	return s
}
