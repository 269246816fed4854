package orphans

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
)

// Deletion is the outcome of deleting an orphan.
type Deletion string

// Outcomes of a deletion.
const (
	// Asked: the service has started to delete it.
	Asked Deletion = "asked"
	// Waits: something else has to be deleted first, or it is being deleted already.
	Waits Deletion = "waits"
	// Gone: it doesn't exist any more.
	Gone Deletion = "gone"
	// Spared: it isn't an orphan any more.
	Spared Deletion = "spared"
	// Failed: the service refuses, or can't be reached.
	Failed Deletion = "failed"
)

// Delete requests the deletion of all orphans of the report that nothing blocks, and waits for none: it has to be repeated
// until the report is empty. Right before each deletion it checks again that it still is an orphan. The error says how many
// deletions failed; or that the objects can't be read any more, so that nothing more is deleted. Ledgers that are all that
// is left of an object, and name nothing any more that was seen, are deleted too.
func (r *Report) Delete(ctx context.Context, c client.Client) error {
	failed := 0
	for _, o := range r.Orphans {
		if o.Deletion, o.DeletionWhy = r.wait(o); o.Deletion == Waits {
			continue
		}
		claims, err := readClaims(ctx, r.objects, r.system.Owners, r.global)
		if err != nil {
			return err
		}
		o.Deletion, o.DeletionWhy = r.deleteOne(ctx, o, r.judge(o.item.account, claims))
		if o.Deletion == Failed {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d couldn't be deleted", failed, len(r.Orphans))
	}
	return r.dropLedgers(ctx, c)
}

// dropLedgers deletes the ledgers of the selected owners, if everything could be read and nothing of theirs exists.
func (r *Report) dropLedgers(ctx context.Context, c client.Client) error {
	claims, err := readClaims(ctx, r.objects, r.system.Owners, r.global)
	if err != nil || len(r.Incomplete) > 0 {
		return err
	}
	for _, l := range claims.living {
		if l.forsaken == nil || !slices.Contains(r.owners, l.owner) || r.sees(l) {
			continue
		}
		controllerutil.RemoveFinalizer(l.forsaken, ledgerv1.Finalizer)
		if err := c.Update(ctx, l.forsaken); err != nil {
			return fmt.Errorf("release ledger %s/%s: %w", l.namespace, l.forsaken.Name, err)
		}
		if err := client.IgnoreNotFound(c.Delete(ctx, l.forsaken)); err != nil {
			return fmt.Errorf("delete ledger %s/%s: %w", l.namespace, l.forsaken.Name, err)
		}
	}
	return nil
}

// mayAppear is how long after an attempt its resource may still appear: longer than managers wait for it.
const mayAppear = 10 * time.Minute

// sees reports whether anything of an object's was seen or may still appear, or the accounts where it would be weren't read, or nothing says
// any more which these are.
func (r *Report) sees(l living) bool {
	if len(r.reach[l.realm()]) == 0 || len(r.sites) > 0 {
		return true
	}
	for _, secret := range l.logins() {
		if account, known := r.leads[secret]; !known || !r.read[account.String()] {
			return true
		}
	}
	for _, e := range l.forsaken.Spec.Entries {
		if e.Owned() && e.At != nil && time.Since(e.At.Time) < mayAppear {
			return true
		}
	}
	for _, world := range r.world {
		for _, i := range world {
			if i.tag.Owner == l.owner || slices.ContainsFunc(l.own(), func(id string) bool { return id == i.id }) {
				return true
			}
		}
	}
	return false
}

// own are the IDs that the ledger has as the object's own.
func (l living) own() (ids []string) {
	for _, r := range l.ledger {
		if r.Own && r.ID != "" {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func (r *Report) deleteOne(ctx context.Context, o *Orphan, j judge) (Deletion, string) {
	now, err := o.item.get(ctx)
	switch {
	case err != nil:
		return outcome(err)
	case now.Deleting:
		return Waits, onItsWay
	}
	if still, why := r.stillOrphaned(o, now, j); !still {
		return Spared, cmp.Or(why, "it was changed or claimed meanwhile")
	}
	return outcome(o.item.remove(ctx))
}

func outcome(err error) (Deletion, string) {
	switch {
	case err == nil:
		return Asked, ""
	case fault.IsNotFound(err):
		return Gone, ""
	case fault.ClassOf(err) == fault.Busy:
		return Waits, err.Error()
	}
	return Failed, err.Error()
}

const onItsWay = "it is being deleted"

// wait says what an orphan has to wait for: its own deletion; resources that lie in it or use it, orphans or not; and those
// of the same owner that come before it.
func (r *Report) wait(o *Orphan) (Deletion, string) {
	if o.item.Deleting {
		return Waits, onItsWay
	}
	var before []string
	for _, i := range r.world[o.item.account] {
		if i.kind == o.Kind && i.id == o.ID {
			continue
		}
		uses := slices.Contains(i.Uses, o.ID) || (o.item.Gives != "" && slices.Contains(i.Uses, o.item.Gives))
		mine := slices.ContainsFunc(r.Orphans, func(p *Orphan) bool {
			return p.ID == i.id && p.item.account == o.item.account && p.Owner == o.Owner
		})
		if uses || (mine && i.stage < o.item.stage) {
			before = append(before, i.String())
		}
	}
	if len(before) > 0 {
		return Waits, "after " + strings.Join(before, ", ")
	}
	return "", ""
}

// stillOrphaned judges a resource once more, as it is now, and says why.
func (r *Report) stillOrphaned(o *Orphan, now item, j judge) (still bool, why string) {
	if o.item.part != "" {
		what, why, whole := j.ofPart(now, r.world[o.item.account])
		if what == orphaned {
			return whole.tag.Owner == o.Owner, ""
		}
		return false, why
	}
	what, why := j.of(now)
	if what == orphaned {
		return now.tag == o.item.tag, ""
	}
	return false, why
}
