package simulator

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ChaosKind is how a call that chaos hits fails.
type ChaosKind string

// The kinds of chaos. Those without a comment are answers with that status, without the work.
const (
	ChaosStatus500 ChaosKind = "status500"
	Chaos503       ChaosKind = "503"
	Chaos429       ChaosKind = "429"
	// ChaosHang holds the call, drops it and does no work.
	ChaosHang ChaosKind = "hang"
	// ChaosLoseAnswer does the work and drops the call.
	ChaosLoseAnswer ChaosKind = "loseAnswer"
	// ChaosCommitLate holds the call, drops it and does the work later.
	ChaosCommitLate ChaosKind = "commitLate"
)

func allChaos() []ChaosKind {
	return []ChaosKind{ChaosStatus500, Chaos503, Chaos429, ChaosHang, ChaosLoseAnswer, ChaosCommitLate}
}

// Chaos makes calls fail at random. Which call of an operation fails, counted since the start, and how, depends on the
// seed alone.
type Chaos struct {
	Seed uint64 `json:"seed"`
	// Rate is the share of calls that go wrong, between 0 and 1.
	Rate float64 `json:"rate"`
	// Kinds default to all.
	Kinds []ChaosKind `json:"kinds,omitempty"`
	// Operations default to all.
	Operations []string `json:"operations,omitempty"`
	// Hold and Delay are those of Fault, both 10 seconds by default: no call is held for as long as its client waits.
	Hold  metav1.Duration `json:"hold,omitzero"`
	Delay metav1.Duration `json:"delay,omitzero"`
}

const chaosPause = 10 * time.Second

func (c Chaos) complete() (Chaos, error) {
	if c.Rate < 0 || c.Rate > 1 {
		return c, errors.New("rate of chaos must be between 0 and 1")
	}
	if len(c.Kinds) == 0 {
		c.Kinds = allChaos()
	}
	for _, kind := range c.Kinds {
		if !slices.Contains(allChaos(), kind) {
			return c, fmt.Errorf("unknown kind of chaos %q", kind)
		}
	}
	for _, pause := range []*metav1.Duration{&c.Hold, &c.Delay} {
		switch {
		case pause.Duration < 0:
			return c, errors.New("hold and delay of chaos mustn't be negative")
		case pause.Duration == 0:
			pause.Duration = chaosPause
		}
	}
	return c, nil
}

// hits decides about the nth call of an operation.
func (c Chaos) hits(operationID string, n int) (ChaosKind, bool) {
	if !c.concerns(operationID) {
		return "", false
	}
	hash := fnv.New64a()
	_, _ = fmt.Fprintf(hash, "%s %d", strings.ToLower(operationID), n) // can't fail
	random := rand.New(rand.NewPCG(c.Seed, hash.Sum64()))              //nolint:gosec // must repeat; no secret comes from it
	if random.Float64() >= c.Rate {
		return "", false
	}
	return c.Kinds[random.IntN(len(c.Kinds))], true
}

func (c Chaos) concerns(operationID string) bool {
	return len(c.Operations) == 0 ||
		slices.ContainsFunc(c.Operations, func(o string) bool { return strings.EqualFold(o, operationID) })
}

func (c Chaos) fault(kind ChaosKind) *Fault {
	switch kind {
	case ChaosStatus500:
		return &Fault{Kind: FaultStatus, Status: http.StatusInternalServerError, Message: "chaos"}
	case Chaos503:
		return &Fault{Kind: FaultStatus, Status: http.StatusServiceUnavailable, Message: "chaos"}
	case Chaos429:
		return &Fault{Kind: FaultStatus, Status: http.StatusTooManyRequests, Message: "chaos"}
	default:
		return &Fault{Kind: FaultKind(kind), Hold: c.Hold, Delay: c.Delay}
	}
}

// chaos is the chaos that reigns, if any.
type chaos struct {
	mu    sync.Mutex
	reign *Chaos
	calls map[string]int
	// cleared is closed when the chaos ends.
	cleared chan struct{}
}

func (c *chaos) start(reign Chaos) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
	c.reign, c.calls, c.cleared = &reign, map[string]int{}, make(chan struct{})
}

func (c *chaos) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
}

// end what reigns. c.mu is held.
func (c *chaos) end() {
	if c.reign != nil {
		c.reign = nil
		close(c.cleared)
	}
}

// next returns the fault of a call, if it has one, and what is closed when the chaos ends.
func (c *chaos) next(operationID string) (*Fault, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reign == nil {
		return nil, nil
	}
	c.calls[operationID]++
	kind, hit := c.reign.hits(operationID, c.calls[operationID])
	if !hit {
		return nil, nil
	}
	return c.reign.fault(kind), c.cleared
}

// StartChaos lets calls go wrong at random, instead of any chaos that there was. Faults come first.
func (s *Service) StartChaos(c Chaos) error {
	c, err := c.complete()
	if err == nil {
		err = s.check(c.Operations...)
	}
	if err != nil {
		return err
	}
	s.Log.Info("chaos", "seed", c.Seed, "rate", c.Rate, "kinds", c.Kinds, "operations", c.Operations)
	s.chaos.start(c)
	return nil
}

// StopChaos ends the chaos. Calls that hang are answered with an error.
func (s *Service) StopChaos() { s.chaos.stop() }
