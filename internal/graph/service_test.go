package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// thing is a resource of the toy service.
type thing struct {
	id       string
	tag      graph.Tag
	title    string
	size     int
	creating bool
	deleting bool
	// broken is how many remedies it takes.
	broken int
}

// service is an outside service with tags and asynchronous deletes. before and after are called around every call, and
// may fail it: after means that the work is done but the answer lost.
type service struct {
	mu            sync.Mutex
	things        map[string]*thing
	next          int
	calls         []string
	before, after func(call string) error
	// slow: things aren't ready when they are made.
	slow bool
	// stubborn keeps the size of things as it is.
	stubborn bool
	// fuse of the process that calls the service, in the crash suite.
	fuse *crashtest.Fuse
}

func newService() *service { return &service{things: map[string]*thing{}} }

func (s *service) do(call string, work func() error) error {
	if s.fuse == nil {
		return s.serve(call, work)
	}
	changes := strings.HasPrefix(call, "create") || strings.HasPrefix(call, "delete")
	return s.fuse.Call(changes, func() error { return s.serve(call, work) })
}

func (s *service) serve(call string, work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	if s.before != nil {
		if err := s.before(call); err != nil {
			return err
		}
	}
	if err := work(); err != nil {
		return err
	}
	if s.after != nil {
		return s.after(call)
	}
	return nil
}

func (s *service) failing(call string, err error) {
	s.before = func(c string) error {
		if c == call {
			return err
		}
		return nil
	}
}

func (s *service) mustFind(key string) *thing {
	for _, t := range s.things {
		if t.tag.Key == key {
			return t
		}
	}
	panic("there is no " + key)
}

func (s *service) create(tag graph.Tag) (t *thing, err error) {
	err = s.do("create "+tag.Key, func() error {
		s.next++
		t = &thing{id: fmt.Sprintf("id-%d", s.next), tag: tag, creating: s.slow}
		s.things[t.id] = t
		return nil
	})
	return t, err
}

func (s *service) get(id string) (t *thing, err error) {
	err = s.do("get "+id, func() error {
		found, ok := s.things[id]
		if !ok {
			return &fault.Error{Class: fault.NotFound, Op: "get " + id, Err: errors.New("404")}
		}
		t = new(*found)
		return nil
	})
	return t, err
}

func (s *service) find(owner, title string) (found []thing, err error) {
	err = s.do("find", func() error {
		for _, id := range slices.Sorted(maps.Keys(s.things)) {
			if t := s.things[id]; t.tag.Owner == owner || title != "" && t.title == title {
				found = append(found, *s.things[id])
			}
		}
		return nil
	})
	return found, err
}

func (s *service) delete(id string) error {
	return s.do("delete "+id, func() error {
		t, ok := s.things[id]
		if !ok {
			return &fault.Error{Class: fault.NotFound, Op: "delete " + id, Err: errors.New("404")}
		}
		t.deleting = true
		return nil
	})
}

func (s *service) resize(id string, size int) error {
	return s.do("resize "+id, func() error {
		if !s.stubborn {
			s.things[id].size = size
		}
		return nil
	})
}

func (s *service) remedy(id string) error {
	return s.do("remedy "+id, func() error {
		s.things[id].broken--
		return nil
	})
}

// finish lets deletes come to their end.
func (s *service) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.things, func(_ string, t *thing) bool { return t.deleting })
}

// keys of the things that exist, sorted, doubles included.
func (s *service) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, t := range s.things {
		keys = append(keys, t.tag.Key)
	}
	slices.Sort(keys)
	return keys
}

func (s *service) called(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (s *service) kind() *graph.Kind[thing] {
	return &graph.Kind[thing]{
		Name: "thing",
		ID:   func(t *thing) string { return t.id },
		Tag:  func(t *thing) graph.Tag { return t.tag },
		Get:  func(_ context.Context, id string, _ graph.Scope) (*thing, error) { return s.get(id) },
		Find: func(_ context.Context, key graph.Key) ([]thing, error) { return s.find(key.Owner, key.Title) },
		Phase: func(t *thing) phases.Phase {
			switch {
			case t.deleting:
				return phases.Deleting()
			case t.creating:
				return phases.Waiting("%s is being made", t.id)
			case t.broken > 0:
				return phases.Failed("%s is broken", t.id)
			}
			return phases.Ready()
		},
		Delete: func(_ context.Context, id string, _ graph.Scope) error { return s.delete(id) },
	}
}

// changes are the calls so far that make or delete something.
func (s *service) changes() (calls []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		if strings.HasPrefix(call, "create") || strings.HasPrefix(call, "delete") {
			calls = append(calls, call)
		}
	}
	return calls
}
