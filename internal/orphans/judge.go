package orphans

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/ledgers"
)

// verdict on a resource.
type verdict int

const (
	// notOurs: it carries no tag, or a living object claims it.
	notOurs verdict = iota
	// orphaned: it carries our tag, and no object claims it.
	orphaned
	// uncertain: it may be ours, and isn't touched.
	uncertain
)

// judge decides what is ours and what the user's own in one account. What is seen in another account proves nothing
// there.
type judge struct {
	claims
	// here reports whether a Secret of the namespace leads to the account. The Secret of an object of another namespace
	// may lead there under another name of the server, or the object may claim what isn't its own.
	here func(namespace string) bool
	// proven are the owner IDs in labels, which only Bedplate writes, and those that the user has confirmed.
	proven map[string]bool
	// asked are the owner IDs that the report is limited to; without any it isn't.
	asked []string
}

func newJudge(c claims, here func(namespace string) bool, world []item, vouched []string) judge {
	j := judge{claims: c, here: here, proven: map[string]bool{}, asked: vouched}
	for _, owner := range vouched {
		j.proven[owner] = true
	}
	for _, i := range world {
		if i.labelled && ledgers.IsOwnerID(i.tag.Owner) {
			j.proven[i.tag.Owner] = true
		}
	}
	return j
}

// of judges a resource, and says why if that isn't obvious.
func (j judge) of(i item) (verdict, string) {
	what, why := j.byTag(i)
	if what == orphaned {
		return j.unlessDoubtful(i, why)
	}
	return what, why
}

func (j judge) byTag(i item) (verdict, string) {
	isTag := ledgers.IsOwnerID(i.tag.Owner) && i.tag.Key != ""
	if !isTag {
		if i.labelled && i.tag.Owner != "" {
			return uncertain, fmt.Sprintf("its label says %q is its owner, which isn't an ID of Bedplate's", i.tag.Owner)
		}
		return notOurs, ""
	}
	owner, lives := j.first(func(l living) bool { return l.owner == i.tag.Owner && l.forsaken == nil })
	if lives && !j.here(owner.realm()) {
		return uncertain, owner.name + " claims it, but no Secret in its namespace is known to lead to this account"
	}
	if lives && owner.uses(i.id) {
		return notOurs, ""
	}
	if user, used := j.userOf(i.id); used {
		return uncertain, user.name + " uses it"
	}
	if lives {
		same := func(l living) bool { return l.owner == owner.owner && l.name != owner.name }
		if other, several := j.first(same); several { // the engine generates each ID once, so one of the ledgers is forged
			return uncertain, fmt.Sprintf("%s and %s both have its owner's ID", owner.name, other.name)
		}
		return j.ofLiving(owner, i)
	}
	if gone, ok := j.first(func(l living) bool { return l.owner == i.tag.Owner && l.forsaken != nil && j.here(l.realm()) }); ok {
		return orphaned, gone.name + " is gone, and only its ledger is left"
	}
	if !i.labelled && !j.proven[i.tag.Owner] { // MAC addresses look the same as owner IDs
		return uncertain, "only its name looks like one of Bedplate's: if Bedplate created it, add --owner " + i.tag.Owner
	}
	return orphaned, ""
}

// ofLiving judges what carries the tag of a living object and isn't in its ledger.
func (j judge) ofLiving(owner living, i item) (verdict, string) {
	entry, known := owner.ledger[i.tag.Key]
	switch {
	case !known:
		return orphaned, fmt.Sprintf("%s exists, but its ledger doesn't contain it", owner.name)
	case entry.ID == "":
		return notOurs, "" // The object is about to create it, or to find it.
	}
	return orphaned, fmt.Sprintf("a duplicate: the %s of %s is %s", entry.Kind, owner.name, entry.ID)
}

// ofPart judges what has no tag by that of ours which it is a part of: it is deleted with that. If it is a part of two, it is that of an
// owner that is asked for.
func (j judge) ofPart(part item, world []item) (_ verdict, why string, of item) {
	wholes := slices.DeleteFunc(slices.Clone(world), func(whole item) bool {
		if !slices.Contains(part.Uses, whole.id) {
			return true
		}
		what, _ := j.of(whole)
		return what != orphaned
	})
	slices.SortStableFunc(wholes, func(a, b item) int {
		return cmp.Compare(slices.Index(j.asked, b.tag.Owner), slices.Index(j.asked, a.tag.Owner))
	})
	if len(wholes) == 0 {
		return notOurs, "", item{}
	}
	if user, used := j.userOf(part.id); used {
		return uncertain, user.name + " uses it", wholes[0]
	}
	what, why := j.unlessDoubtful(part, "a "+part.part+" of the orphaned "+wholes[0].String())
	return what, why, wholes[0]
}

// unlessDoubtful calls what no object claims an orphan, unless it may belong to an object that can't be read.
func (j judge) unlessDoubtful(i item, why string) (verdict, string) {
	for _, kind := range j.owners {
		if j.unread[kind] != nil && kind.MayHave(i.stage) {
			return uncertain, "it may belong to an object of kind " + kind.Name + ", and these can't be read"
		}
	}
	damaged, found := j.first(func(l living) bool {
		names := i.tag.Owner != "" && strings.Contains(l.text, i.tag.Owner)
		return l.damage != nil && l.kind.MayHave(i.stage) && (j.here(l.realm()) || names)
	})
	if found {
		return uncertain, "it may belong to " + damaged.name + ", whose ledger can't be used"
	}
	return orphaned, why
}

// first of the objects that fit; those of the account come before others.
func (j judge) first(fits func(living) bool) (found living, ok bool) {
	for _, l := range j.living {
		if fits(l) && (!ok || j.here(l.realm())) {
			found, ok = l, true
			if j.here(l.realm()) {
				break
			}
		}
	}
	return found, ok
}

// userOf names an object that uses a resource, though it may carry the tag of another.
func (j judge) userOf(id string) (living, bool) {
	return j.first(func(l living) bool { return l.forsaken == nil && l.uses(id) })
}
