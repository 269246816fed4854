package sim

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// Abandoned is what becomes of a create whose client leaves before the answer.
type Abandoned string

const (
	// AbandonedRolledBack makes nothing.
	AbandonedRolledBack Abandoned = "rolledBack"
	// AbandonedCommitted makes it all the same.
	AbandonedCommitted Abandoned = "committed"
	// AbandonedAtSite rolls the record back, and the site continues. What it creates exists there, unknown to the
	// API: see State.Strays.
	AbandonedAtSite Abandoned = "atSite"
)

func (a Abandoned) validate() error {
	switch a {
	case AbandonedRolledBack, AbandonedCommitted, AbandonedAtSite:
		return nil
	}
	return fmt.Errorf("unknown fate of abandoned creates %q", a)
}

// defaultConnections are those of a service that sets no size, on up to four CPUs.
const defaultConnections = 4

// connect is around the work of every operation.
func (s *Server) connect(work gen.StrictHandlerFunc, _ string) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		if err := s.connections.Get(ctx); err != nil {
			return nil, err
		}
		defer s.connections.Put()
		return work(ctx, w, r, request)
	}
}

// readBesides is what a create of instances does within its transaction: it reads over a second connection. As many of them
// as there are connections wait for each other until their clients leave, and so does every other call.
func (s *Server) readBesides(ctx context.Context) error {
	if err := s.connections.Get(ctx); err != nil {
		return err
	}
	s.connections.Put()
	return nil
}

// lock is an advisory lock, which a create holds from its check until its commit. The zero lock is none.
type lock struct{ what, id, tenantID string }

func blockLock(m maker, block *ipBlock) lock {
	return lock{what: "IP Block", id: block.id, tenantID: m.tenantID}
}

// A lock that another call holds is tried for three times, about a second in all.
const (
	lockTries = 3
	lockPause = 300 * time.Millisecond
)

// lock takes an advisory lock, or refuses the call.
func (s *Server) lock(l lock) (unlock func(), err error) {
	for try := range lockTries {
		if l == (lock{}) || s.locks.Try(l) {
			return func() { s.locks.Release(l) }, nil
		}
		if err := s.Wait(lockPause << try); err != nil {
			return nil, err
		}
	}
	return nil, refuse(http.StatusInternalServerError, "detected multiple parallel request on %s by Tenant", l.what)
}

// stray is what a site has made for a client that has left, after the service has forgotten it.
type stray struct {
	kind string
	resource
}

// Stray exists at the site, and the API knows nothing of it.
type Stray struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (s *state) strayInstances() (all []*instance) {
	for _, stray := range s.strays {
		if i, ok := stray.resource.(*instance); ok {
			all = append(all, i)
		}
	}
	return all
}

// onMachines are the instances that a machine can be in use for, those that the API doesn't know among them.
func (s *state) onMachines() []*instance { return slices.Concat(s.instances.Items, s.strayInstances()) }
