// Package hostile simulates a BMM API that attacks its clients: each mode does so in one way.
package hostile

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Mode is a way to harm.
type Mode string

// All is any of the modes, another one for each call.
const All Mode = "all"

// modes are all but All.
var modes = map[Mode]func(*call){
	"endless":    (*call).endless,
	"huge-page":  (*call).hugePage,
	"items":      (*call).tenMillionItems,
	"slow":       (*call).slow,
	"hang":       (*call).hang,
	"switch":     (*call).switchProtocols,
	"gzip":       (*call).gzipBomb,
	"deep":       (*call).deep,
	"types":      (*call).wrongTypes,
	"header":     (*call).hugeHeader,
	"empty":      (*call).empty,
	"wrong-id":   (*call).wrongID,
	"pagination": (*call).lyingPagination,
	"full":       (*call).full,
	"quantity":   (*call).quantity,
	"error":      (*call).hugeError,
}

// names of the modes, sorted: what is random must not depend on the order of a map.
var names = slices.Sorted(maps.Keys(modes))

// Names are those of all modes.
func Names() string {
	all := string(All)
	for _, mode := range names {
		all += ", " + string(mode)
	}
	return all
}

// Server is the hostile service.
type Server struct {
	// Trust is how many calls in a hundred are answered as a correct service would: without it nothing gets past the first.
	Trust   int
	mode    Mode
	seed    uint64
	calls   atomic.Uint64
	closing context.Context
	close   context.CancelFunc
}

// New returns a server. The same calls with the same seed are answered alike.
func New(mode Mode, seed uint64) (*Server, error) {
	if _, known := modes[mode]; !known && mode != All {
		return nil, fmt.Errorf("unknown mode %q: there are %s", mode, Names())
	}
	s := &Server{mode: mode, seed: seed}
	s.closing, s.close = context.WithCancel(context.Background())
	return s, nil
}

// Close ends all calls.
func (s *Server) Close() { s.close() }

// Calls is how many there were.
func (s *Server) Calls() uint64 { return s.calls.Load() }

// call is one that is being answered.
type call struct {
	http.ResponseWriter
	request *http.Request
	// random depends on the seed, the call and how many there were of it.
	random *rand.Rand
	// list is what a list is asked of, or empty; id is the last part of the path.
	list, id string
}

// ServeHTTP harms the caller.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or it isn't noticed when the client leaves
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	c := &call{ResponseWriter: w, request: r.WithContext(ctx)}
	hash := fnv.New64a()
	_, _ = fmt.Fprint(hash, r.Method, r.URL)                              // can't fail
	c.random = rand.New(rand.NewPCG(s.seed, hash.Sum64()+s.calls.Add(1))) //nolint:gosec // it has to be repeatable
	c.id = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if r.URL.Query().Has("pageNumber") {
		c.list = c.id
	}
	w.Header().Set("Content-Type", "application/json")
	if c.random.IntN(100) < s.trustIn(c) {
		c.honest()
		return
	}
	mode := s.mode
	if mode == All {
		mode = names[c.random.IntN(len(names))]
	}
	modes[mode](c)
}

// trustIn a call: what comes before all else is hardly worth an attack, as it keeps the caller from the rest.
func (s *Server) trustIn(c *call) int {
	if s.Trust > 0 && (c.id == "metadata" || c.id == "current") {
		return max(s.Trust, 95)
	}
	return s.Trust
}

// paginate says that a list has so many objects.
func (c *call) paginate(pageSize, total int) {
	if c.list != "" {
		c.Header().Set("X-Pagination", fmt.Sprintf(`{"pageNumber":%s,"pageSize":%d,"total":%d}`,
			c.request.URL.Query().Get("pageNumber"), pageSize, total))
	}
}

// write reports whether the caller is still there.
func (c *call) write(text string) bool {
	_, err := c.Write([]byte(text))
	return err == nil && c.request.Context().Err() == nil
}

// pause reports whether the caller is still there after a while.
func (c *call) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.request.Context().Done():
		return false
	}
}
