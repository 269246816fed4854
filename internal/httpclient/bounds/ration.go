package bounds

import (
	"errors"
	"sync"
)

// ration bounds the memory that all answers being read take together, in bytes. Each namespace may have as much as it leaves
// free: one by itself half of it, of two each a third. So every newcomer gets something, however much others take.
type ration struct {
	limit int

	mu    sync.Mutex
	total int
	taken map[string]int
}

// answers is the ration of the process. A list of 10,000 machines takes a quarter of it.
var answers = &ration{limit: 96 << 20, taken: map[string]int{}}

var errNoMemory = errors.New("the answers to calls with the credentials of this namespace take too much memory at the moment: " +
	"it is tried again; is the endpoint the right one?")

// Share is one reader's part of the ration of the process. It isn't safe for concurrent use.
type Share struct {
	of  *ration
	who string
	has int
}

// ShareOf a namespace.
func ShareOf(namespace string) *Share { return &Share{of: answers, who: namespace} }

// Has is what it has, in bytes.
func (s *Share) Has() int { return s.has }

// Set what it has, in bytes. It may always have less.
func (s *Share) Set(bytes int) error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	more := bytes - s.has
	if more > 0 && s.of.taken[s.who]+more > s.of.limit-s.of.total-more {
		return errNoMemory
	}
	s.has += more
	s.of.total += more
	if s.of.taken[s.who] += more; s.of.taken[s.who] == 0 {
		delete(s.of.taken, s.who)
	}
	return nil
}

// Release all that it has.
func (s *Share) Release() { _ = s.Set(0) } // can't fail
