package observer

import "sync"

// workers look at clusters. Those that haven't answered lately get half of them at most, and of one namespace an eighth, so that clusters
// that hang delay no others. One that has answered may begin to hang, but only once.
const (
	workers      = 32
	share        = workers / 2
	shareOfOwner = workers / 8
)

// turns of clusters that haven't answered lately. The zero value is ready to use.
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
