// Package simulator has what simulated services have in common: time that runs faster, calls that are counted and fail on demand or at
// random, connections and locks that run out, tokens that expire, and endpoints to steer all that by. It knows no service: a
// simulator of one adds its API and its state.
package simulator

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Service is the part of a simulated service that all have.
type Service struct {
	Clock
	Log *slog.Logger
	// Known checks that operations exist; nil if any may.
	Known func(operations ...string) error

	faults faults
	chaos  chaos

	mu    sync.Mutex
	calls map[string]int

	// closing ends everything that waits; background counts what Close waits for.
	closing    context.Context
	end        context.CancelFunc
	background sync.WaitGroup
}

// New returns a service in which so many seconds pass in a real one.
func New(speed float64, log *slog.Logger) *Service {
	s := &Service{Clock: Clock{start: time.Now(), speed: speed}, Log: log, calls: map[string]int{}}
	s.closing, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends all that waits, and returns when nothing runs in the background any more.
func (s *Service) Close() {
	s.mu.Lock() // so that Run either counts itself in before, or doesn't start
	s.end()
	s.mu.Unlock()
	s.background.Wait()
}

// Run runs work that Close waits for, unless the service is already closing.
func (s *Service) Run(work func()) {
	s.mu.Lock()
	if s.closing.Err() != nil {
		s.mu.Unlock()
		return
	}
	s.background.Add(1)
	s.mu.Unlock()
	defer s.background.Done()
	work()
}

// Count a call of an operation.
func (s *Service) Count(operation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[operation]++
}

// Calls returns the number of calls by operation, refused ones included.
func (s *Service) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// Wait lets a simulated duration pass, and fails if the service closes meanwhile.
func (s *Service) Wait(simulated time.Duration) error {
	return s.WaitFor(context.Background(), simulated)
}

// WaitFor is Wait for a client. It ends early, without an error, when that leaves: the caller decides what becomes of its work.
func (s *Service) WaitFor(ctx context.Context, simulated time.Duration) error {
	timer := time.NewTimer(s.Real(simulated))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return nil
	case <-s.closing.Done():
		return errClosing
	}
}

// Refusal is an answer without the work.
type Refusal struct {
	Status  int
	Message string
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

var errClosing = &Refusal{Status: http.StatusServiceUnavailable, Message: "The service is shutting down"}
