package publish

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bedplate/bedplate/internal/bmm/publication"
)

// tombstoneFor is how long a tombstone stays whose machine is gone: Kubernetes asks about a node once it isn't Ready.
const tombstoneFor = time.Hour

// errNotAll says that a turn was over before all was written. The next one continues.
var errNotAll = errors.New("one turn was too short for all of it")

// publish what has changed, and from time to time read the actual state. If nothing has changed, no connection is made.
// What was written before an error stays recorded.
func (r *Reconciler) publish(ctx context.Context, name types.NamespacedName, known *state, want wanted) error {
	changed, obsolete := known.changed(want), known.obsolete(want)
	whole := r.Clock.Since(known.whole) >= r.resync()
	if !whole && len(changed) == 0 && len(obsolete) == 0 {
		return nil
	}
	in, err := connect(ctx, r.Secrets, r.Egress, name)
	if err != nil {
		return err
	}
	defer in.close()
	if whole {
		found, err := in.list(ctx, len(want.instances)+len(want.unknown)+1)
		if err != nil {
			return err
		}
		obsolete = r.compare(known, want, found)
		changed = known.changed(want)
	}
	written := 0
	spent := func() bool { // too little is left of the turn for a call
		ends, ok := ctx.Deadline()
		written++
		return written > 1 && ok && time.Until(ends) < callTimeout
	}
	for _, id := range changed {
		if spent() {
			return errNotAll
		}
		one := want.instances[id]
		one.Seen = metav1.NewTime(r.Clock.Now())
		if err := in.apply(ctx, one); err != nil {
			return err
		}
		known.published[id] = want.instances[id]
	}
	for _, id := range obsolete {
		if spent() {
			return errNotAll
		}
		if err := in.remove(ctx, id); err != nil {
			return err
		}
		delete(known.published, id)
	}
	if !whole || want.site == nil {
		return nil
	}
	if len(want.unknown) == 0 {
		known.complete = metav1.NewTime(want.seen)
	}
	want.site.Complete = known.complete
	if err := in.apply(ctx, *want.site); err != nil {
		return err
	}
	known.whole = r.Clock.Now()
	return nil
}

// compare the actual state with the wanted one, and return the names of what isn't needed any more.
func (r *Reconciler) compare(known *state, want wanted, found []corev1.ConfigMap) (obsolete []string) {
	known.published = map[string]publication.Instance{}
	for i := range found {
		name := found[i].Name
		one, err := publication.ReadInstance(&found[i])
		age := r.Clock.Since(one.Seen.Time)
		one.Seen = metav1.Time{}
		_, needed := want.instances[name]
		switch {
		case name == publication.SiteName:
		case needed || want.unknown[name]:
			if err == nil {
				known.published[name] = one
			}
		case err == nil && one.Gone && age >= 0 && age < tombstoneFor:
		default:
			obsolete = append(obsolete, name)
		}
	}
	return obsolete
}
