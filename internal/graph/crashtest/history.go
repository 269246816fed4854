package crashtest

import (
	"fmt"
	"reflect"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// history is what was read of the objects of one world, so that a cache can lag. Each reconcile reads what it works on, so history
// has each revision that a reconcile has left.
type history struct {
	mu        sync.Mutex
	revisions map[string][]revision
}

func newHistory() *history { return &history{revisions: map[string][]revision{}} }

// revision of an object: nil if there was none.
type revision struct {
	object client.Object
	err    error
}

// show an object as it was some revisions before what was just read, or as it was first.
func (h *history) show(key client.ObjectKey, o client.Object, err error, behind int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := fmt.Sprintf("%T %s", o, key)
	newest := revision{err: err}
	if err == nil {
		newest.object = o.DeepCopyObject().(client.Object)
	}
	all := h.revisions[name]
	if len(all) == 0 || !all[len(all)-1].is(newest) {
		all = append(all, newest)
		h.revisions[name] = all
	}
	old := all[max(len(all)-1-behind, 0)]
	if old.object != nil {
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(old.object.DeepCopyObject()).Elem())
	}
	return old.err
}

func (r revision) is(other revision) bool {
	if r.object == nil || other.object == nil {
		return r.object == other.object
	}
	return r.object.GetUID() == other.object.GetUID() && r.object.GetResourceVersion() == other.object.GetResourceVersion()
}
