package decide

import (
	"errors"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// A model of the world around decide: one key, two processes that may be suspended between any two of their steps, a service, and
// clients that change things. All of it is one value that can be compared, so that a state is known again.

const (
	slots = 4 // resources that there may be; the first is the user's own
	// settled is how old something has to be for the service to have come to the end of it: ages are 1 for this tick, 2 for the one
	// before, 3 for all that is older, and 0 for never.
	settled  = time.Minute
	ourTitle = "shared"
)

const (
	claimNone uint8 = iota // the owner is deleted
	claimCreate
	claimUse
	claimUseOrCreate
	claimCreateNamed
	claimOurs // the spec names as the user's own what the first create makes
)

// named is the slot of what the spec names then. It carries our tag.
const named = 2

// traits are the properties of a service and its kind, and what may happen there.
type traits struct {
	// claims that the owner's spec changes between; it begins with the first.
	claims []uint8
	// tagged resources; names that only one may have, and whose a taken one is; gone ones that come back.
	tagged, unique, saysWho, comesBack bool
	// lags: lists still show what is gone, for less than a tick.
	lags bool
	// hides: a list may not show ours, but not two that follow each other.
	hides bool
	// What happens besides: our resources are changed; one create makes two; the ledger is restored from a backup.
	drifts, doubles, restores bool
	// chooses: a choice is made for it. breaks: ours may break, so that remedies help, or don't.
	chooses, breaks bool
	// budget of the actions of users, other clients and operators.
	budget uint8
}

func (t traits) titled() bool {
	return t.claims[0] == claimUseOrCreate || t.claims[0] == claimCreateNamed
}

// resource in its slot. Theirs is the user's own.
type resource struct {
	exists, deleting, theirs, drifted bool
	// broken is how many remedies it takes until it is ready; remedied is how many there were.
	broken, remedied uint8
	// listed: lists show it. All do before a tick is over, and then none shows what is gone.
	listed bool
	// back: it is gone and may be brought back, once; was says that it has been.
	back, was bool
	token     uint8
}

// record is a ledger entry. Times are ages.
type record struct {
	state                 uint8 // 0 none, 1 refused, 2 pending, 3 bound
	id, token, proven     uint8
	foreign, conflict     bool
	at, goneAt, appliedAt uint8
	applied, chosen       bool
	unready, repairedAt   uint8
	repairs               uint8
}

// remedies are tried, at most; a resource that breaks takes one more at most.
const remedies = 2

const (
	stageDeciding uint8 = iota
	stageCreating       // the intention is written, the call isn't sent
	stageSweeping       // the ledger is empty
)

const (
	answerNone uint8 = iota
	answerMade
	answerRefused
	answerTaken
)

// process is one round of one controller, and what it has seen.
type process struct {
	on bool
	// fresh: its ledger is the newest one, so its write succeeds. First: there was none when its round began.
	fresh, first     bool
	claim, stage     uint8
	began            uint8 // an age
	ledger           record
	looked, seen     uint8 // the slot that was looked up last, and how it was: 0 absent, 1 ready, 2 deleting, 3 broken
	list             [slots]uint8
	asked, gone      [slots]bool
	token            uint8
	answer, answerID uint8

	listed, twice, turn, wrote, compared, changes, applied, mended, chosen bool
	hid                                                                    bool // the last list did hide ours
}

type state struct {
	resources [slots]resource
	// flights are creates, by token, that the service may still work on. Their clients have no answer.
	flights [2]uint8
	claim   uint8
	ledger  record
	// before the last write, as a cache shows it that is behind; and backup, as an operator has it.
	before, backup     record
	backedUp, released bool
	tokens, budget     uint8
	processes          [2]process
}

func (t traits) start() state {
	s := state{claim: t.claims[0], budget: t.budget}
	s.resources[0] = resource{exists: !t.titled(), theirs: true, listed: true}
	return s
}

func idOf(slot uint8) string {
	if slot == 0 {
		return ""
	}
	return strconv.Itoa(int(slot))
}

func slotOf(id string) uint8 {
	n, _ := strconv.ParseUint(id, 10, 8)
	return uint8(n)
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func stampOf(age uint8) *metav1.Time {
	if age == 0 {
		return nil
	}
	return &metav1.Time{Time: epoch.Add(-time.Duration(age-1) * settled)}
}

func ageOf(t *metav1.Time) uint8 {
	if t == nil {
		return 0
	}
	return uint8(epoch.Sub(t.Time)/settled) + 1
}

func (t traits) entry(r record) *ledgerv1.Entry {
	if r.state == 0 {
		return nil
	}
	e := &ledgerv1.Entry{
		Kind: "thing", Condition: "Ready", State: []ledgerv1.State{"", ledgerv1.Refused, ledgerv1.Pending, ledgerv1.Bound}[r.state],
		ID: idOf(r.id), Token: idOf(r.token), Proven: idOf(r.proven), Foreign: r.foreign,
		At: stampOf(r.at), GoneAt: stampOf(r.goneAt), AppliedAt: stampOf(r.appliedAt),
		UnreadySince: stampOf(r.unready), RepairedAt: stampOf(r.repairedAt), Repairs: int32(r.repairs),
	}
	if r.chosen {
		e.Params = theChoice
	}
	if t.titled() {
		e.Title = ourTitle
	}
	if r.applied {
		e.Applied = summary(drift)
	}
	switch {
	case r.conflict:
		e.Refusal = string(fault.Conflict)
	case r.state == 1 && r.at > 0:
		e.Refusal = string(fault.Quota)
	}
	return e
}

func recordOf(e *ledgerv1.Entry) record {
	if e == nil {
		return record{}
	}
	return record{
		state: map[ledgerv1.State]uint8{ledgerv1.Refused: 1, ledgerv1.Pending: 2, ledgerv1.Bound: 3}[e.State],
		id:    slotOf(e.ID), token: slotOf(e.Token), proven: slotOf(e.Proven), foreign: e.Foreign, conflict: e.Refusal == string(fault.Conflict),
		at: ageOf(e.At), goneAt: ageOf(e.GoneAt), appliedAt: ageOf(e.AppliedAt), applied: e.Applied != "",
		unready: ageOf(e.UnreadySince), repairedAt: ageOf(e.RepairedAt), repairs: uint8(e.Repairs), chosen: len(e.Params) > 0,
	}
}

var theChoice = map[string]string{"zone": "a"}

var drift = []Change{{Field: "size", From: "1", To: "2"}}

func (t traits) wish(claimed uint8) Wish {
	w := Wish{Owner: "o", Key: "k", Kind: "thing", Tagged: t.tagged, Settle: settled, Poll: settled, Slowly: settled}
	if t.comesBack {
		w.GoneAfter = settled
	}
	if claimed == claimNone {
		return w
	}
	w.Wanted, w.Updates, w.Chooses, w.Repairs, w.Limits.Most = true, t.drifts, t.chooses, t.breaks, remedies
	w.Fresh = ledgerv1.Entry{Kind: "thing", Condition: "Ready", State: ledgerv1.Refused}
	switch claimed {
	case claimUse:
		w.Claim, w.Named = Claim{Uses: true, ID: idOf(1)}, []string{idOf(1)}
	case claimOurs:
		w.Claim, w.Named = Claim{Uses: true, ID: idOf(named)}, []string{idOf(named)}
	case claimUseOrCreate:
		w.Claim, w.Fresh.Title = Claim{Title: ourTitle}, ourTitle
	case claimCreateNamed:
		w.Claim, w.Fresh.Title = Claim{Title: ourTitle, Made: true}, ourTitle
	}
	return w
}

func (t traits) thing(s *state, slot, seen uint8) *Thing {
	if seen == 0 {
		return nil
	}
	o := &Thing{ID: idOf(slot), Phase: phases.Ready()}
	switch seen {
	case 2:
		o.Phase = phases.Deleting()
	case 3:
		o.Phase = phases.Failed("it is broken: ask its operator")
	}
	if r := s.resources[slot-1]; t.tagged && !r.theirs {
		o.Tag = Tag{Owner: "o", Key: "k", Token: idOf(r.token)}
	}
	return o
}

var (
	errRefused      = &fault.Error{Class: fault.Quota, Err: errors.New("nothing left")}
	errTaken        = errors.New("the name is taken")
	errUnchangeable = fault.Invalidf("it can't be changed: replace it")
)

// sight is what a process has seen, in decide's terms.
func (t traits) sight(s *state, p *process) Sight {
	v := Sight{Began: stampOf(p.began).Time, Listed: p.listed, Twice: p.twice, Wrote: p.wrote, Compared: p.compared, Applied: p.applied, Remedied: p.mended, Token: idOf(p.token), Chosen: p.chosen}
	if p.chosen {
		v.Params = theChoice
	}
	if p.looked > 0 {
		v.ID, v.Object = idOf(p.looked), t.thing(s, p.looked, p.seen)
	}
	for i, seen := range p.list {
		slot := uint8(i + 1)
		if seen > 0 {
			v.List = append(v.List, *t.thing(s, slot, seen))
		}
		if p.asked[i] {
			v.Asked = append(v.Asked, idOf(slot))
		}
		if p.gone[i] {
			v.Gone = append(v.Gone, idOf(slot))
		}
	}
	if p.turn {
		v.Turn = TurnGranted
	}
	if p.changes {
		v.Changes = drift
	}
	switch p.answer {
	case answerMade:
		v.Attempt = Attempt{Known: true, ID: idOf(p.answerID)}
	case answerRefused:
		v.Attempt = Attempt{Known: true, Err: errRefused}
	case answerTaken:
		v.Attempt = Attempt{Known: true, Err: &fault.Error{Class: fault.Conflict, OtherID: idOf(p.answerID), Err: errTaken}}
	}
	return v
}
