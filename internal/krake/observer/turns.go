package observer

import "sync"

// workers look at clusters. Those that have never answered get a third of them at most, and those that don't answer now as well; of each
// namespace half of that. So clusters that hang delay no others. One that has answered may begin to hang, but only once.
const (
	workers      = 30
	share        = workers / 3
	shareOfOwner = share / 2
)

// turns of clusters of one of these sorts. The zero value is ready to use.
type turns struct {
	mu   sync.Mutex
	all  int
	each map[string]int
}

// begin one, unless all shares are in use.
func (t *turns) begin(namespace string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all >= share || t.each[namespace] >= shareOfOwner {
		return false
	}
	if t.each == nil {
		t.each = map[string]int{}
	}
	t.all++
	t.each[namespace]++
	return true
}

func (t *turns) end(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	if t.each[namespace]--; t.each[namespace] == 0 {
		delete(t.each, namespace)
	}
}
