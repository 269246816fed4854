package publish

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bedplate/bedplate/internal/bmm/publication"
)

// state is what is remembered of a cluster whose instances are published. Only its own reconcile uses it.
type state struct {
	// published are the instances as they were written last, or found, without the time.
	published map[string]publication.Instance
	// whole is when the actual state was last read.
	whole    time.Time
	complete metav1.Time
	// next is when something may be written again, and pause is how long that is put off after a failure.
	next  time.Time
	pause time.Duration
	// told is the text of the newest event; empty if all is well.
	told string
}

// changed are the instances that have to be written, in the order of their IDs.
func (s *state) changed(want wanted) (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(want.instances)) {
		if now, ok := s.published[id]; !ok || !reflect.DeepEqual(now, want.instances[id]) {
			ids = append(ids, id)
		}
	}
	return ids
}

// obsolete are the instances of machines that don't exist any more.
func (s *state) obsolete(want wanted) (ids []string) {
	for id := range s.published {
		if _, needed := want.instances[id]; !needed && !want.unknown[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// bury leaves tombstones for the next complete reads.
func (s *state) bury(tombstones []publication.Instance) {
	for _, one := range tombstones {
		delete(s.published, one.ID)
	}
}

// putOff what is left to do after an error, and say for how long: longer each time, up to most, unless something was done.
func (s *state) putOff(err error, now time.Time, least, most time.Duration) time.Duration {
	if errors.Is(err, errNotAll) {
		s.pause = 0
	}
	s.pause = min(max(2*s.pause, least), most)
	s.next = now.Add(s.pause)
	return s.pause
}

// clusters whose instances are published. The zero value is ready to use.
type clusters struct {
	mu     sync.Mutex
	states map[types.NamespacedName]*state
	// gone are the tombstones that have to be written.
	gone map[types.NamespacedName]map[string]publication.Instance
}

func (c *clusters) of(name types.NamespacedName) *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.states[name]
	if !ok {
		known = &state{published: map[string]publication.Instance{}}
		if c.states == nil {
			c.states = map[types.NamespacedName]*state{}
		}
		c.states[name] = known
	}
	return known
}

// has reports whether the instances of a cluster are published.
func (c *clusters) has(name types.NamespacedName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states[name] != nil
}

// forget a cluster that is gone, or whose instances aren't published.
func (c *clusters) forget(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.states, name)
	delete(c.gone, name)
}

// died records an instance that is proven to be gone, whose machine is gone as well. Beyond a few pending ones nothing is
// recorded: without a tombstone a Node stays until Cluster API deletes it.
func (c *clusters) died(name types.NamespacedName, one publication.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		c.gone = map[types.NamespacedName]map[string]publication.Instance{}
	}
	if c.gone[name] == nil {
		c.gone[name] = map[string]publication.Instance{}
	}
	if len(c.gone[name]) < strangers {
		c.gone[name][one.ID] = one
	}
}

func (c *clusters) dead(name types.NamespacedName) []publication.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.gone[name]))
}

// buried are tombstones that have been written.
func (c *clusters) buried(name types.NamespacedName, tombstones []publication.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range tombstones {
		delete(c.gone[name], one.ID)
	}
}
