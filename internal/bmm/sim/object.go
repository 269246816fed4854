package sim

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/simulator"
)

// object is what everything that clients make has in common.
type object struct {
	simulator.Life
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
	o := object{Life: simulator.NewLife(now, m.takes(takes)), id: m.id, siteID: siteID, tenantID: m.tenantID, world: m.world}
	if o.id == "" {
		o.id = uuid.NewString()
	}
	return o
}

// resource is an object of any kind.
type resource interface {
	base() *object
	Gone(now time.Time) bool
	Status(now time.Time) string
}

func (o *object) base() *object { return o }

// store has all objects of a kind.
type store[R resource] struct {
	simulator.Store[R]
	// what is the kind's name in messages.
	what string
}

func (s *store[R]) byID(id string) (R, bool) {
	return s.Find(func(r R) bool { return r.base().id == id })
}

// named is the tenant's object of that name at the site.
func (s *store[R]) named(tenantID, siteID, name string) (R, bool) {
	return s.Find(func(r R) bool {
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
