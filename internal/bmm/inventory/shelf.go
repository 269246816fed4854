package inventory

import (
	"reflect"
	"time"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
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
	s.listed, s.took, s.unseen = began, ended.Sub(began), time.Time{}
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
	if len(differ) > 0 {
		s.moves(ended)
	}
	return differ
}

// due says whether it is time for a list, and when the one began that it is to replace. While something moves, lists follow
// soon and then less and less often, but there is a tenth of the interval between two of them, and no more than a tenth of the
// time goes into them: a site of thousands of instances that are being made isn't listed all the time.
func (s *shelf) due(now time.Time, interval time.Duration) (since time.Time, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listing) > 0 {
		return s.listed, false
	}
	pause := min(max(graph.Interval(interval, now.Sub(s.moved)), interval/10, 10*s.took), interval)
	seen := s.unseen.IsZero() || now.Sub(s.unseen) >= graph.Interval(interval, 0)
	return s.listed, now.Sub(s.listed) >= pause && (seen || now.Sub(s.listed) >= interval)
}

// moves notes that an instance is on its way. s.mu is held.
func (s *shelf) moves(now time.Time) {
	s.moved = now
	if s.unseen.IsZero() {
		s.unseen = now
	}
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
	if instance.Status != bmm.InstanceReady && instance.Status != bmm.InstanceError {
		s.moves(at)
	}
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
