package inventory

import (
	"reflect"
	"time"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// take puts the answer of a list that began and ended at these times on the shelf, and returns the IDs of what is another
// than before.
func (s *shelf) take(began, ended time.Time, list []bmm.Instance, err error) (differ []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if err != nil {
		s.failed = ended
		return nil
	}
	first := s.listed.IsZero()
	s.listed = began
	before := s.instances
	s.instances = make(map[string]seen, len(list))
	for _, instance := range list {
		s.put1(slim(instance), began)
	}
	for id, known := range before {
		if known.at.After(began) { // seen while the list was on its way
			s.instances[id] = known
		}
	}
	for id, since := range s.stale {
		if since.After(began) {
			delete(s.instances, id)
		} else {
			delete(s.stale, id)
		}
	}
	if first {
		return nil
	}
	for id, now := range s.instances {
		if was, ok := before[id]; !ok || !same(was.instance, now.instance) {
			differ = append(differ, id)
		}
	}
	for id := range before {
		if _, ok := s.instances[id]; !ok {
			differ = append(differ, id)
		}
	}
	return differ
}

func (s *shelf) client() *bmm.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.api
}

func (s *shelf) put(instance bmm.Instance, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put1(slim(instance), at)
	delete(s.stale, instance.ID)
}

func (s *shelf) put1(instance bmm.Instance, at time.Time) {
	s.instances[instance.ID] = seen{at: at, instance: instance}
}

// fresh is an instance as it was seen not before a time.
func (s *shelf) fresh(id string, notBefore time.Time) (bmm.Instance, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.instances[id]
	return known.instance, ok && !known.at.Before(notBefore)
}

// slim leaves out what nobody asks an inventory for: of ten thousand instances it is most of the bytes, and user data is
// nobody's business.
func slim(i bmm.Instance) bmm.Instance {
	i.UserData, i.IpxeScript, i.StatusHistory = "", "", nil
	return i
}

func same(a, b bmm.Instance) bool {
	a.Updated, b.Updated = time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}
