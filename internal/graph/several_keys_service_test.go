package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// lag is how long a list may be behind. A create may be done as late. Both together are within the settle time.
const lag = settle / 2

// variant of a service: what it knows of whose its things are.
type variant string

const (
	withTags    variant = "with tags"
	withoutTags variant = "without tags"
	namesAreIDs variant = "without tags, where names are IDs"
)

// life of a thing: what lists show of it.
type life struct {
	*thing
	ours           bool
	appears, fades time.Time
	gone           bool
}

// late is a create that the service does later.
type late struct {
	key graph.Key
	at  time.Time
}

func (s *story) alive(fits func(*life) bool) (all []*life) {
	for _, l := range s.lives {
		if !l.gone && fits(l) {
			all = append(all, l)
		}
	}
	return all
}

func (s *story) get(id string) *life {
	for _, l := range s.alive(func(l *life) bool { return l.id == id }) {
		return l
	}
	return nil
}

// make one; nil if its name is taken, where names are IDs.
func (s *story) make(key graph.Key, ours bool, at time.Time) *life {
	l := &life{thing: &thing{id: fmt.Sprintf("id-%d", len(s.lives)+1), title: key.Title}, ours: ours, appears: at}
	if ours {
		l.appears = at.Add(time.Duration(s.random.Int64N(int64(lag))))
	}
	if s.variant == withTags {
		l.tag = graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token}
	} else {
		l.tag.Key = key.Name // for the test alone
	}
	if s.variant == namesAreIDs && key.Title != "" {
		l.id = key.Title
	}
	if s.get(l.id) != nil {
		return nil
	}
	s.lives = append(s.lives, l)
	return l
}

func (s *story) remove(l *life) {
	l.gone, l.fades = true, s.clock.Now().Add(time.Duration(s.random.Int64N(int64(lag))))
}

// passes lets time pass: late creates are done, and deletions, most of them.
func (s *story) passes(d time.Duration) {
	until := s.clock.Now().Add(d)
	s.late = slices.DeleteFunc(s.late, func(c late) bool {
		if c.at.After(until) {
			return false
		}
		s.tell("done late: %v", s.make(c.key, true, c.at) != nil)
		return true
	})
	s.clock.SetTime(until)
	for _, l := range s.alive(func(l *life) bool { return l.deleting }) {
		s.remove(l)
	}
}

// list may be behind, and hides one thing, but not in two calls that follow each other. With tags it doesn't hide the user's own: the engine
// may look only once whether a name is free, where a tag proves what is ours.
func (s *story) list(fits func(*life) bool) (found []thing) {
	now, hides := s.clock.Now(), !s.hidden && s.random.IntN(8) == 0
	s.hidden = false
	for _, l := range s.lives {
		switch {
		case !fits(l) || now.Before(l.appears) || l.gone && !now.Before(l.fades):
		case hides && !s.hidden && (l.ours || s.variant != withTags):
			s.hidden = true
		default:
			found = append(found, *l.thing)
		}
	}
	return found
}

func (s *story) kind(k *graph.Kind[thing]) {
	missing := func(id string) error { return &fault.Error{Class: fault.NotFound, Op: id, Err: errors.New("404")} }
	k.Get = func(_ context.Context, id string, _ graph.Scope) (found *thing, err error) {
		l := s.get(id)
		if err := s.step(func() {}); err != nil {
			return nil, err
		}
		if l == nil {
			return nil, missing(id)
		}
		return new(*l.thing), nil
	}
	k.Find = func(_ context.Context, key graph.Key) (found []thing, err error) {
		err = s.step(func() {
			found = s.list(func(l *life) bool {
				return s.variant == withTags && l.tag.Owner == key.Owner || key.Title != "" && l.title == key.Title ||
					s.variant != withTags && key.Title == "" && l.ours && l.title == "" && l.tag.Key == key.Name
			})
		})
		return found, err
	}
	k.Delete = func(_ context.Context, id string, _ graph.Scope) error {
		err := s.step(func() {
			if l := s.get(id); l != nil {
				s.tell("DELETE %s", id)
				if l.deleting = true; !l.ours {
					s.wrong("the user's own %s is deleted", id)
				}
			}
		})
		if l := s.get(id); err == nil && l == nil {
			return missing(id)
		}
		return err
	}
	if k.GoneAfter = s.goneAfter; s.variant != withTags {
		k.Tag = nil
	}
}

func (s *story) create(key graph.Key) (made *thing, err error) {
	outcome := s.next
	s.next = ""
	dead := s.step(func() {
		s.tell("CREATE %s %q: %s", key.Name, key.Title, outcome)
		switch outcome {
		case "refused":
			err = &fault.Error{Class: fault.Quota, Err: errors.New("no more")}
		case "never":
			err = errors.New("connection reset")
		case "late":
			s.late = append(s.late, late{key, s.clock.Now().Add(time.Duration(s.random.Int64N(int64(lag))))})
			err = errors.New("connection reset")
		default:
			l := s.make(key, true, s.clock.Now())
			switch {
			case l == nil:
				err = &fault.Error{Class: fault.Conflict, Err: errors.New("the name is taken")}
			case outcome == "unanswered":
				err = errors.New("connection reset")
			default:
				made = new(*l.thing)
			}
		}
	})
	if dead != nil {
		return nil, dead
	}
	return made, err
}
