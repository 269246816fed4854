package feed

import (
	"cmp"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Add implements cache.ReflectorStore.
func (f *Feed[M]) Add(object any) error { return f.Update(object) }

// Update implements cache.ReflectorStore.
func (f *Feed[M]) Update(object any) error {
	o := object.(client.Object)
	item := f.item(o)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.apply(client.ObjectKeyFromObject(o), item, item.Version, false)
	return nil
}

// Delete implements cache.ReflectorStore. The object has the version of its deletion.
func (f *Feed[M]) Delete(object any) error {
	o := object.(client.Object)
	version := f.item(o).Version
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.apply(client.ObjectKeyFromObject(o), nil, version, false)
	return nil
}

// Bookmark implements cache.ReflectorBookmarkStore.
func (f *Feed[M]) Bookmark(version string) error {
	at, err := Version(version)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.latest = max(f.latest, at)
	return err
}

// Resync implements cache.ReflectorStore.
func (f *Feed[M]) Resync() error { return nil }

// Replace implements cache.ReflectorStore: it is called at the start, and when the watch was interrupted for so long that
// changes were lost. Listeners that are up to date get the differences, deletions first.
func (f *Feed[M]) Replace(objects []any, version string) error {
	at, err := Version(version)
	if err != nil {
		return err
	}
	now := map[client.ObjectKey]*Item[M]{}
	for _, object := range objects {
		now[client.ObjectKeyFromObject(object.(client.Object))] = f.item(object.(client.Object))
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	// A client that comes from another proxy may know more than this one did, and less than it does now.
	for s := range f.listeners {
		if s.position > f.latest && s.position < at || at < f.latest {
			s.end(ErrExpired)
		}
	}
	for key := range f.items {
		if now[key] == nil {
			f.apply(key, nil, at, true)
		}
	}
	for _, key := range byAge(now) {
		if before := f.items[key]; before == nil || before.Version != now[key].Version {
			f.apply(key, now[key], at, true)
		}
	}
	f.past, f.weight, f.since, f.latest, f.known, f.synced = nil, 0, at, at, at, true
	for s := range f.listeners {
		s.bookmark()
	}
	return nil
}

// byAge orders objects by when they have changed.
func byAge[M any](items map[client.ObjectKey]*Item[M]) []client.ObjectKey {
	return slices.SortedFunc(maps.Keys(items), func(a, b client.ObjectKey) int { return cmp.Compare(items[a].Version, items[b].Version) })
}

// apply publishes a change: after is nil when the object is gone.
func (f *Feed[M]) apply(key client.ObjectKey, after *Item[M], version uint64, partly bool) {
	c := change[M]{before: f.items[key], after: after, version: version, partly: partly}
	if c.before == nil && c.after == nil {
		return
	}
	if c.before != nil {
		delete(f.items, key)
		remove(f.owned, c.before.Owner, key)
	}
	if c.after != nil {
		f.items[key] = after
		insert(f.owned, after.Owner, key, after)
	}
	f.latest = max(f.latest, version)
	f.past = append(f.past, c)
	f.weight += c.bytes()
	f.tell(c)
	f.forget()
}

// forget the oldest changes if they are too many, or too large together. Clients that still wait for one of them have to list again.
func (f *Feed[M]) forget() {
	n := 0
	for ; len(f.past)-n > f.config.Remember || f.weight > f.config.RememberBytes && n < len(f.past); n++ {
		f.weight -= f.past[n].bytes()
		f.since = f.past[n].version
	}
	if n == 0 {
		return
	}
	clear(f.past[:n])
	f.past = f.past[n:]
	for s := range f.listeners {
		if len(s.queue) > 0 && s.queue[0].from < f.since {
			s.end(ErrExpired)
		}
	}
}

// tell the clients that a change concerns.
func (f *Feed[M]) tell(c change[M]) {
	told := map[string]bool{}
	for _, owner := range []string{"", owner(c.before), owner(c.after)} {
		if told[owner] {
			continue
		}
		told[owner] = true
		for s := range f.byOwner[owner] {
			s.hear(c)
		}
	}
}

func owner[M any](item *Item[M]) string {
	if item == nil {
		return ""
	}
	return item.Owner
}

func insert[K1, K2 comparable, V any](m map[K1]map[K2]V, k1 K1, k2 K2, v V) {
	if m[k1] == nil {
		m[k1] = map[K2]V{}
	}
	m[k1][k2] = v
}

func remove[K1, K2 comparable, V any](m map[K1]map[K2]V, k1 K1, k2 K2) {
	delete(m[k1], k2)
	if len(m[k1]) == 0 {
		delete(m, k1)
	}
}
