package orphans

import (
	"fmt"
	"regexp"
	"slices"
)

// ownerPattern is what the engine makes owner IDs like. MAC addresses look the same, so a name alone proves nothing.
var ownerPattern = regexp.MustCompile(`^[0-9a-f]{12}$`)

// verdict on a resource.
type verdict int

const (
	// notOurs: it carries no tag, or a living object claims it.
	notOurs verdict = iota
	// orphaned: it carries our tag, and nobody claims it.
	orphaned
	// uncertain: it may be ours, and isn't touched.
	uncertain
)

// judge knows what tells ours from the user's own.
type judge struct {
	claims claims
	// proven are the owner IDs that stand in labels, which nobody but Bedplate writes, and those that the user vouches for.
	proven map[string]bool
}

func newJudge(claims claims, world []item, vouched []string) judge {
	j := judge{claims: claims, proven: map[string]bool{}}
	for _, owner := range vouched {
		j.proven[owner] = true
	}
	for _, i := range world {
		if i.labelled && ownerPattern.MatchString(i.tag.Owner) {
			j.proven[i.tag.Owner] = true
		}
	}
	return j
}

// of judges a resource, and says why where that isn't plain.
func (j judge) of(i item) (verdict, string) {
	isTag := ownerPattern.MatchString(i.tag.Owner) && i.tag.Key != ""
	if !isTag {
		if i.labelled && i.tag.Owner != "" {
			return uncertain, fmt.Sprintf("its label says %q is its owner, which isn't an ID of Bedplate's", i.tag.Owner)
		}
		return notOurs, ""
	}
	owner, lives := j.claims.byOwner(i.tag.Owner)
	if lives && owner.uses(i.id) {
		return notOurs, ""
	}
	if user, used := j.claims.userOf(i.id); used {
		return uncertain, user.name + " uses it"
	}
	if lives {
		return j.ofLiving(owner, i)
	}
	if !i.labelled && !j.proven[i.tag.Owner] {
		return uncertain, "only its name looks like one that Bedplate gives: if it is ours, say --owner " + i.tag.Owner
	}
	return orphaned, ""
}

// ofLiving judges what carries the tag of a living object and isn't in its ledger.
func (j judge) ofLiving(owner living, i item) (verdict, string) {
	entry, known := owner.ledger[i.tag.Key]
	switch {
	case !known:
		return orphaned, fmt.Sprintf("%s is there, but doesn't know it", owner.name)
	case entry.ID == "":
		return notOurs, "" // The object is about to make it, or to find it.
	}
	return orphaned, fmt.Sprintf("a double: the %s of %s is %s", entry.Kind, owner.name, entry.ID)
}

// ofPeering judges a peering by the VPC of ours that it lies in: it can't outlive that.
func (j judge) ofPeering(peering item, vpcs []item) (verdict, string, item) {
	for _, vpc := range vpcs {
		if !slices.Contains(peering.uses, vpc.id) {
			continue
		}
		if what, _ := j.of(vpc); what != orphaned {
			continue
		}
		if user, used := j.claims.userOf(peering.id); used {
			return uncertain, user.name + " uses it", vpc
		}
		return orphaned, "a peering of the orphaned " + vpc.String(), vpc
	}
	return notOurs, "", item{}
}
