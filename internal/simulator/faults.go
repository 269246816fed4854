package simulator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FaultKind is how a call fails.
type FaultKind string

const (
	// FaultStatus answers with an error, without doing the work.
	FaultStatus FaultKind = "status"
	// FaultStatusAfter answers with an error after the work was done.
	FaultStatusAfter FaultKind = "statusAfter"
	// FaultHang answers nothing until the client is gone, Hold is over or the faults are cleared, without doing the work.
	FaultHang FaultKind = "hang"
	// FaultLoseAnswer does the work and drops the connection.
	FaultLoseAnswer FaultKind = "loseAnswer"
	// FaultCommitLate is like FaultHang, but the work is done some time after the call has ended.
	FaultCommitLate FaultKind = "commitLate"
)

// Fault makes the next calls of an operation go wrong.
type Fault struct {
	// Operation is what fails, such as createVpc.
	Operation string `json:"operation"`
	// Times is how many calls go wrong; 0 means 1, and -1 means all until the faults are cleared.
	Times int       `json:"times,omitempty"`
	Kind  FaultKind `json:"kind"`
	// Status and Message are the answer of FaultStatus and FaultStatusAfter.
	Status  int    `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	// Hold bounds how long FaultHang and FaultCommitLate hold a call, in simulated time, before they drop its connection;
	// 0 is as long as the client waits.
	Hold metav1.Duration `json:"hold,omitzero"`
	// Delay is the simulated time between the end of the call and the work of FaultCommitLate.
	Delay metav1.Duration `json:"delay,omitzero"`
}

func (f Fault) validate() error {
	switch {
	case f.Operation == "":
		return errors.New("a fault needs an operation")
	case f.Times < -1:
		return fmt.Errorf("times of a fault must be -1 or more, not %d", f.Times)
	case f.Hold.Duration < 0 || f.Delay.Duration < 0:
		return errors.New("hold and delay of a fault mustn't be negative")
	}
	switch f.Kind {
	case FaultStatus, FaultStatusAfter:
		if f.Status < 400 || f.Status > 599 {
			return fmt.Errorf("status of a fault must be 400 to 599, not %d", f.Status)
		}
	case FaultHang, FaultLoseAnswer, FaultCommitLate:
	default:
		return fmt.Errorf("unknown kind of fault %q", f.Kind)
	}
	return nil
}

// faults are the faults still to come.
type faults struct {
	mu   sync.Mutex
	todo []*Fault
	// cleared is closed, and replaced, when the faults are cleared.
	cleared chan struct{}
}

func (f *faults) add(fault Fault) {
	if fault.Times == 0 {
		fault.Times = 1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.todo = append(f.todo, &fault)
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.todo = nil
	if f.cleared != nil {
		close(f.cleared)
		f.cleared = nil
	}
}

// next returns the fault of a call, if it has one, and what is closed when the faults are cleared.
func (f *faults) next(operationID string) (*Fault, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cleared == nil {
		f.cleared = make(chan struct{})
	}
	i := slices.IndexFunc(f.todo, func(fault *Fault) bool { return strings.EqualFold(fault.Operation, operationID) })
	if i < 0 {
		return nil, nil
	}
	fault := *f.todo[i]
	if f.todo[i].Times--; f.todo[i].Times == 0 {
		f.todo = slices.Delete(f.todo, i, i+1)
	}
	return &fault, f.cleared
}

// Inject is around the work of every operation. Its error is a *Refusal, or that of the work.
func (s *Service) Inject(ctx context.Context, operation string, work func(context.Context) error) error {
	fault, cleared := s.chaos.next(operation) // each call counts
	if one, ends := s.faults.next(operation); one != nil {
		fault, cleared = one, ends
	}
	waiting := ctx
	ctx, end := s.untilClosed(ctx)
	defer end()
	if fault == nil {
		return work(ctx)
	}
	s.Log.Info("fault", "operation", operation, "kind", fault.Kind, "status", fault.Status)
	switch fault.Kind {
	case FaultStatus:
		return &Refusal{Status: fault.Status, Message: fault.Message}
	case FaultStatusAfter:
		if err := work(ctx); err != nil {
			return err
		}
		return &Refusal{Status: fault.Status, Message: fault.Message}
	case FaultLoseAnswer:
		if err := work(ctx); err != nil {
			s.Log.Info("nothing done before the answer was lost", "operation", operation, "error", err)
		}
		panic(http.ErrAbortHandler)
	default:
		return s.hang(waiting, cleared, fault, func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(waiting), max(s.Real(lateWork), busy))
			defer cancel()
			ctx, end := s.untilClosed(ctx)
			defer end()
			err := work(ctx)
			s.Log.Info("work for a client that has gone", "operation", operation, "error", err)
		})
	}
}

// lateWork bounds, in simulated time, how long work for a client that has gone may wait for connections. It has the real time that a busy
// computer may need at least: its end is one more client that leaves.
const lateWork, busy = 2 * time.Minute, 10 * time.Second

// untilClosed ends work when the service closes.
func (s *Service) untilClosed(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closing, cancel)
	return ctx, func() { stop(); cancel() }
}

// hang holds a call until its client is gone, its time is up or the faults are cleared. For FaultCommitLate it then
// continues in the background.
func (s *Service) hang(ctx context.Context, cleared <-chan struct{}, fault *Fault, work func()) error {
	var held <-chan time.Time
	if fault.Hold.Duration > 0 {
		timer := time.NewTimer(s.Real(fault.Hold.Duration))
		defer timer.Stop()
		held = timer.C
	}
	select {
	case <-ctx.Done():
	case <-held:
	case <-cleared:
		return &Refusal{Status: http.StatusServiceUnavailable, Message: "The service gave up"}
	case <-s.closing.Done():
		return errClosing
	}
	if fault.Kind == FaultCommitLate {
		go s.Run(func() {
			if s.Wait(fault.Delay.Duration) == nil {
				work()
			}
		})
	}
	panic(http.ErrAbortHandler) // no client is left to get an answer
}

// AddFault lets calls go wrong.
func (s *Service) AddFault(fault Fault) error {
	if err := fault.validate(); err != nil {
		return err
	}
	if err := s.check(fault.Operation); err != nil {
		return err
	}
	s.faults.add(fault)
	return nil
}

// ClearFaults ends all faults. Calls that hang are answered with an error.
func (s *Service) ClearFaults() { s.faults.clear() }

func (s *Service) check(operations ...string) error {
	if s.Known == nil {
		return nil
	}
	return s.Known(operations...)
}
