// Package feed distributes the changes of the objects of one kind to many clients, with one watch of the API server. A
// client that comes back gets what it has missed, as far as that is remembered; otherwise it is told that it has missed
// more.
package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrExpired means that a client has missed what isn't remembered any more.
var ErrExpired = errors.New("what has happened since that version isn't known any more")

// ErrUnsynced means that the objects haven't been listed yet.
var ErrUnsynced = errors.New("the objects aren't known yet")

// Config of a feed.
type Config struct {
	// Remember is how many changes a client can have missed, and RememberBytes what they may weigh together: an object as it was
	// before weighs its Bytes. A client that is slower, or comes back later, has to start with all objects.
	Remember, RememberBytes int
	// Backlog is how many changes may wait for a slow client, beside those that it started with.
	Backlog int
}

// Item is an object as clients see it.
type Item[M any] struct {
	// Owner of the item. It is "" while it has none, and may change.
	Owner string
	Name  string
	// Version of the object. Those of one kind are ordered by time.
	Version uint64
	// Bytes that the object takes in memory.
	Bytes int
	Value M
}

// change of an object: without before it is new, without after it is gone.
type change[M any] struct {
	before, after *Item[M]
	version       uint64
	partly        bool // there are more of this version
}

// bytes that are kept for nothing but this change: what an object is after it is kept as the object, or by the next change.
func (c change[M]) bytes() int {
	if c.before == nil {
		return 0
	}
	return c.before.Bytes
}

// Feed of a kind. It is a cache.ReflectorStore.
type Feed[M any] struct {
	config Config
	item   func(client.Object) *Item[M]

	mutex     sync.Mutex
	synced    bool
	items     map[client.ObjectKey]*Item[M]
	owned     map[string]map[client.ObjectKey]*Item[M]
	past      []change[M] // oldest first
	weight    int         // of the past, in bytes
	since     uint64      // all changes after this version are in the past
	latest    uint64
	known     uint64 // a version of the API server; changes until then may still be missing here
	listeners map[*Subscription[M]]struct{}
	byOwner   map[string]map[*Subscription[M]]struct{} // "" are those that get all changes
}

// New returns a feed of objects that are sent as item says.
func New[M any](config Config, item func(client.Object) *Item[M]) *Feed[M] {
	return &Feed[M]{
		config: config, item: item, items: map[client.ObjectKey]*Item[M]{}, owned: map[string]map[client.ObjectKey]*Item[M]{},
		listeners: map[*Subscription[M]]struct{}{}, byOwner: map[string]map[*Subscription[M]]struct{}{},
	}
}

// Run watches the API server until ctx ends. Example is an object of the kind.
func (f *Feed[M]) Run(ctx context.Context, watch cache.ListerWatcher, example client.Object) {
	cache.NewReflectorWithOptions(watch, example, f, cache.ReflectorOptions{
		Name:    fmt.Sprintf("%T", example),
		Backoff: &wait.Backoff{Duration: 200 * time.Millisecond, Cap: 5 * time.Second, Steps: 10, Factor: 2, Jitter: 1},
	}).RunWithContext(ctx)
}

// Synced reports whether the objects are known.
func (f *Feed[M]) Synced() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.synced
}

// Known is the newest known version, 0 before there is any.
func (f *Feed[M]) Known() uint64 {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return max(f.latest, f.known)
}

// Know of a version that the API server has answered with.
func (f *Feed[M]) Know(version uint64) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.known = max(f.known, version)
}

// Of returns all items of an owner, by name.
func (f *Feed[M]) Of(owner string) ([]*Item[M], error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.synced {
		return nil, ErrUnsynced
	}
	return sorted(f.owned[owner]), nil
}

func sorted[M any](items map[client.ObjectKey]*Item[M]) []*Item[M] {
	all := make([]*Item[M], 0, len(items))
	for _, item := range items {
		all = append(all, item)
	}
	slices.SortFunc(all, func(a, b *Item[M]) int { return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Name, b.Name)) })
	return all
}

// Version as a number. The API server's versions of one kind are ordered.
func Version(version string) (uint64, error) {
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("version %q isn't one: %w", version, err)
	}
	return number, nil
}
