package sim

import (
	"encoding/json"
	"fmt"
	"time"
)

// Item is something that exists.
type Item struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Within is the ID of what it is in, such as its workspace or its VPC.
	Within string `json:"within,omitempty"`
	Status string `json:"status"`
	// World says that no client made it.
	World bool `json:"world,omitempty"`
	// Record says that it is only a record of something that is over: an instance in reclamation, a job that has ended.
	Record bool `json:"record,omitempty"`
	// Part says that it came with something else, and goes with that: the network of a DHCP server, the default group of a VPC.
	Part bool `json:"part,omitempty"`
	// Moving says that its status is going to change by itself.
	Moving bool `json:"moving,omitempty"`
	// Detail is what its client asked for, as JSON; IDs are those of others.
	Detail string `json:"detail,omitempty"`
}

// State is everything that exists by its kind, deleted objects included until they are gone.
type State map[Kind][]Item

// State returns everything that exists.
func (c *Cloud) State() State {
	state := State{}
	c.view(func(now time.Time) {
		for _, s := range c.stores {
			s.each(func(r resource) {
				o := r.base()
				if o.Created.After(now) {
					return // as an image whose import hasn't ended
				}
				item := Item{ID: o.id, Name: o.name, Within: o.within, Status: r.Status(now), World: o.world, Part: o.part}
				if r, ends := r.(interface{ over(now time.Time) bool }); ends {
					item.Record = r.over(now)
				}
				if r, has := r.(interface{ detail() doc }); has {
					text, _ := json.Marshal(r.detail()) // can't fail: texts and numbers only
					item.Detail = string(text)
				}
				item.Moving = !item.Record && (now.Before(o.Ready) || !o.Deleted.IsZero() || item.Status == updating)
				state[s.kind()] = append(state[s.kind()], item)
			})
		}
	})
	return state
}

// Empty reports whether nothing exists any more that a client made, but for records.
func (s State) Empty() bool {
	for _, items := range s {
		for _, item := range items {
			if !item.World && !item.Record {
				return false
			}
		}
	}
	return true
}

// Status is a status that something has in spite of the clock.
type Status struct {
	ID string `json:"id"`
	// Status is what it is from now on, in the service's own words; empty lets it follow from the clock again.
	Status string `json:"status"`
	// Message is the reason.
	Message string `json:"message,omitempty"`
}

// SetStatus changes the status of something at once. What is being deleted stays so.
func (c *Cloud) SetStatus(status Status) error {
	return c.change(func(now time.Time) error {
		r, found := c.find(status.ID)
		if !found {
			return fmt.Errorf("nothing has the ID %q", status.ID)
		}
		r.base().Force(now, status.Status, status.Message)
		return nil
	})
}

// Vanish removes an object without the API, whatever still needs it.
func (c *Cloud) Vanish(id string) error {
	return c.change(func(now time.Time) error {
		r, found := c.find(id)
		if !found {
			return fmt.Errorf("nothing has the ID %q", id)
		}
		r.base().Deleted, r.base().Forgotten = now, now
		return nil
	})
}

// find returns the object of any kind that has the ID. Cloud.mu is held.
func (c *Cloud) find(id string) (found resource, ok bool) {
	for _, s := range c.stores {
		s.each(func(r resource) {
			if r.base().id == id {
				found, ok = r, true
			}
		})
	}
	return found, ok
}

// Outcome is how the next object of a kind ends that a client makes, in place of being ready.
type Outcome struct {
	Kind    Kind   `json:"kind"`
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

// SetOutcome lets the next object of a kind fail.
func (c *Cloud) SetOutcome(outcome Outcome) error {
	return c.change(func(time.Time) error {
		for _, s := range c.stores {
			if s.kind() == outcome.Kind {
				c.outcomes = append(c.outcomes, outcome)
				return nil
			}
		}
		return fmt.Errorf("unknown kind %q", outcome.Kind)
	})
}

// add an object that a client makes, with the outcome that was set for it. Cloud.mu is held.
func add[R resource](c *Cloud, s *store[R], r R) R {
	for i, outcome := range c.outcomes {
		if outcome.Kind == s.of {
			r.base().Force(r.base().Ready, outcome.Status, outcome.Message)
			c.outcomes = append(c.outcomes[:i], c.outcomes[i+1:]...)
			break
		}
	}
	s.Add(r)
	return r
}
