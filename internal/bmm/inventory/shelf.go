package inventory

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"time"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// take stores the answer of a list that started and ended at these times, and returns the IDs of changed instances. What
// callers last asked for before the time to forget doesn't count as used any more.
func (s *shelf) take(began, ended, forget time.Time, list []bmm.Instance, err error) (differ []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if err != nil {
		s.failed = ended
		return nil
	}
	first := s.listed.IsZero()
	s.listed, s.took, s.unseen = began, ended.Sub(began), time.Time{}
	maps.DeleteFunc(s.asked, func(_ string, at time.Time) bool { return at.Before(forget) })
	before := s.instances
	s.instances, s.bytes = make(map[string]seen, len(list)), 0
	for _, instance := range list {
		s.put1(slim(instance), began)
	}
	for _, known := range before {
		if known.at.After(began) { // seen while the list was running
			s.put1(known.instance, known.at)
		}
	}
	for id, since := range s.stale {
		if since.After(began) {
			s.drop(id)
		} else {
			delete(s.stale, id)
		}
	}
	if first {
		return nil
	}
	for id, now := range s.instances {
		if was, ok := before[id]; ok && !same(was.instance, now.instance) || !ok && s.wasKept(id) {
			differ = append(differ, id)
		}
	}
	s.short = false
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

// enter lets one caller list a site, and the others wait for that, but not all of them for long.
func (v *Inventory) enter(ctx context.Context, s *shelf) error {
	namespace := s.client().Namespace()
	v.mu.Lock()
	v.waiting[namespace]++
	hasPatience := v.waiting[namespace] <= patient
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.waiting[namespace]--; v.waiting[namespace] == 0 {
			delete(v.waiting, namespace)
		}
	}()
	return s.enter(ctx, hasPatience)
}

// enter waits until no other caller lists any more. It gives up if the API doesn't answer, so that one list doesn't block a worker
// for each object of a dead site.
func (s *shelf) enter(ctx context.Context, hasPatience bool) error {
	wait, free := s.tryEnter(hasPatience)
	if free {
		return nil
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	look := time.NewTicker(glance)
	defer look.Stop()
	for err := s.client().Silent(); ; {
		if err != nil {
			return &fault.Error{Class: fault.Transient, Op: "list instances", Err: err}
		}
		select {
		case s.listing <- struct{}{}:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.entered = time.Now()
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			err = s.client().Silent()
		case <-late.C:
			err = errors.New("the list that another object waits for isn't there yet")
		}
	}
}

// tryEnter enters if no other caller lists, or says how long to wait for the running list.
func (s *shelf) tryEnter(hasPatience bool) (wait time.Duration, free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.listing <- struct{}{}:
		s.entered = time.Now()
		return 0, true
	default:
	}
	if hasPatience {
		return patience, false
	}
	return time.Until(s.entered.Add(moment)), false
}

// due reports whether it is time for a list, and when the list that it replaces started. While something changes, lists follow
// soon and then less and less often, but at least a tenth of the interval apart, and they take no more than a tenth of the
// time: a site with thousands of instances being created isn't listed all the time.
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

// moves records that an instance is in transition. s.mu is held.
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
	s.asked[instance.ID] = at
	s.put1(slim(instance), at)
	delete(s.stale, instance.ID)
	if instance.Status != bmm.InstanceReady && instance.Status != bmm.InstanceError {
		s.moves(at)
	}
}

func (s *shelf) put1(instance bmm.Instance, at time.Time) {
	s.drop(instance.ID)
	bytes := bmm.Size(&instance)
	s.instances[instance.ID] = seen{at: at, instance: instance, bytes: bytes}
	s.bytes += bytes
}

func (s *shelf) drop(id string) {
	s.bytes -= s.instances[id].bytes
	delete(s.instances, id)
}

// wasKept reports whether an instance would have been kept the last time.
func (s *shelf) wasKept(id string) bool {
	_, asked := s.asked[id]
	return asked || !s.short
}

// cut keeps only what callers ask for; if that is everything, it keeps nothing.
func (s *shelf) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short = true
	all := len(s.instances)
	for id := range s.instances {
		if _, asked := s.asked[id]; !asked {
			s.drop(id)
		}
	}
	if len(s.instances) == all {
		clear(s.instances)
		s.bytes = 0
	}
}

// ask records that a caller asks for an instance, so that it is kept when there isn't room for all.
func (s *shelf) ask(id string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[id] = now
}

// fresh is an instance as it was seen not before a time.
func (s *shelf) fresh(id string, notBefore time.Time) (bmm.Instance, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.instances[id]
	return known.instance, ok && !known.at.Before(notBefore)
}

// slim leaves out what no list has: of ten thousand instances it is most of the bytes, and user data is confidential.
func slim(i bmm.Instance) bmm.Instance {
	i.UserData, i.IpxeScript, i.StatusHistory = "", "", nil
	return i
}

func same(a, b bmm.Instance) bool {
	a.Updated, b.Updated = time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}
