package sim

import (
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// object is what everything that clients make has in common.
type object struct {
	life
	id, name, description string
	siteID, vpcID         string
	tenantID              string
	labels                api.Labels
	// world means that no client made it: see Object.
	world bool
	// before is how clients see it until then: see outdate.
	before      any
	beforeUntil time.Time
}

// maker is the creator of an object.
type maker struct {
	tenantID string
	// id is chosen already, if set.
	id string
	// world makes an object that is there at once, and is not asked for allocations.
	world bool
}

// takes is how long the provisioning of a maker's object takes.
func (m maker) takes(d time.Duration) time.Duration {
	if m.world {
		return 0
	}
	return d
}

// object is the beginning of a new object.
func (m maker) object(siteID string, now time.Time, takes time.Duration) object {
	o := object{life: newLife(now, m.takes(takes)), id: m.id, siteID: siteID, tenantID: m.tenantID, world: m.world}
	if o.id == "" {
		o.id = uuid.NewString()
	}
	return o
}

// life is the part of an object's state that follows from the clock.
type life struct {
	created time.Time
	// ready is when provisioning ends.
	ready time.Time
	// changed is when a client changed the object last; zero if never.
	changed time.Time
	// deleted is when a DELETE was accepted, forgotten when GET answers 404; both zero before.
	deleted, forgotten time.Time
	// forced is a status that doesn't follow from the clock, since forcedAt, and the reason for it.
	forced, reason string
	forcedAt       time.Time
}

func newLife(now time.Time, provisioning time.Duration) life {
	return life{created: now, ready: now.Add(provisioning)}
}

func (l *life) delete(now time.Time, takes time.Duration) {
	if l.deleted.IsZero() {
		l.deleted, l.forgotten = now, now.Add(takes)
	}
}

func (l *life) force(now time.Time, status, reason string) {
	l.forced, l.reason, l.forcedAt = status, reason, now
}

func (l *life) gone(now time.Time) bool { return !l.deleted.IsZero() && !now.Before(l.forgotten) }

// status is pending for the first tenth of the provisioning time.
func (l *life) status(now time.Time) string {
	switch {
	case !l.deleted.IsZero():
		return "Deleting"
	case l.forced != "" && !now.Before(l.forcedAt):
		return l.forced
	case !now.Before(l.ready):
		return "Ready"
	case now.Sub(l.created) < l.ready.Sub(l.created)/10:
		return "Pending"
	default:
		return "Provisioning"
	}
}

// updated is when the object or its status changed last.
func (l *life) updated(now time.Time) time.Time {
	last := l.created
	for _, at := range []time.Time{l.ready, l.changed, l.forcedAt, l.deleted} {
		if at.After(last) && !at.After(now) {
			last = at
		}
	}
	return last
}

// resource is an object of any kind.
type resource interface {
	base() *object
	gone(now time.Time) bool
	status(now time.Time) string
}

func (o *object) base() *object { return o }

// store has all objects of a kind.
type store[R resource] struct {
	// what is the kind's name in messages.
	what  string
	items []R
}

// forget drops what is gone by now: what was deleted long enough ago.
func (s *store[R]) forget(now time.Time) {
	s.items = slices.DeleteFunc(s.items, func(r R) bool { return r.gone(now) })
}

func (s *store[R]) add(r R) { s.items = append(s.items, r) }

func (s *store[R]) find(wanted func(R) bool) (R, bool) {
	if i := slices.IndexFunc(s.items, wanted); i >= 0 {
		return s.items[i], true
	}
	var none R
	return none, false
}

func (s *store[R]) any(wanted func(R) bool) bool { return slices.ContainsFunc(s.items, wanted) }

// count returns how many objects of a kind are wanted.
func count[R resource](kind store[R], wanted func(R) bool) int {
	n := 0
	for _, r := range kind.items {
		if wanted(r) {
			n++
		}
	}
	return n
}

func (s *store[R]) byID(id string) (R, bool) {
	return s.find(func(r R) bool { return r.base().id == id })
}

// named is the tenant's object of that name at the site.
func (s *store[R]) named(tenantID, siteID, name string) (R, bool) {
	return s.find(func(r R) bool {
		o := r.base()
		return o.tenantID == tenantID && o.siteID == siteID && o.name == name
	})
}

// get is the object in a URL: what isn't the tenant's is 403, not 404.
func (s *store[R]) get(tenantID, id string) (R, error) {
	r, found := s.byID(id)
	switch {
	case !found:
		return r, refuse(http.StatusNotFound, "Could not find %s with specified ID", s.what)
	case r.base().tenantID != tenantID:
		return r, refuse(http.StatusForbidden, "%s does not belong to current Tenant", s.what)
	}
	return r, nil
}

// checkName refuses a new name that another object has.
func (s *store[R]) checkName(r R, name string) error {
	o := r.base()
	if name == "" || name == o.name {
		return nil
	}
	if other, found := s.named(o.tenantID, o.siteID, name); found {
		return taken("Another "+s.what+" with specified name already exists for Tenant", other.base().id)
	}
	return nil
}

// describe changes what is set.
func (o *object) describe(name string, description *string, labels *api.Labels) {
	if name != "" {
		o.name = name
	}
	set(&o.description, description)
	set(&o.labels, labels)
}

// set changes a field if there is a new value.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}
