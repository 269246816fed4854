package probe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Stream sends messages one after the other, and notes which are answered.
type Stream struct {
	probe    Probe
	nonce    nonce
	exchange exchange
	running  sync.WaitGroup
	stop     context.CancelFunc // sends no more
	first    chan Answer        // gets the first answer
	progress chan struct{}      // has an element after each answer
	ended    chan struct{}      // closed when the stream can't continue

	mu     sync.Mutex
	record record
	err    error // why it ended
}

// Start begins a stream. A TCP stream is one connection; when it can't be made within p.Patience, that is an ErrNoAnswer.
func Start(ctx context.Context, p Probe) (*Stream, error) {
	p, err := p.withDefaults()
	if err != nil {
		return nil, err
	}
	connecting, cancel := context.WithTimeout(ctx, p.Patience)
	defer cancel()
	opened, err := open(connecting, p)
	if err != nil {
		if connecting.Err() != nil && ctx.Err() == nil {
			err = ErrNoAnswer
		}
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	sending, stop := context.WithCancel(context.Background())
	s := &Stream{
		probe: p, exchange: opened, stop: stop,
		first: make(chan Answer, 1), progress: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	_, _ = rand.Read(s.nonce[:]) // never fails
	s.running.Go(func() { s.sendAll(sending) })
	s.running.Go(s.receiveAll)
	return s, nil
}

// Sent returns how many messages were sent so far.
func (s *Stream) Sent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.record.sent)
}

// Answered returns how many messages were answered so far.
func (s *Stream) Answered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.answered
}

// Stop sends no more, gives the last answers the time that p.Patience allows, and reports. An error means that the stream
// could not continue to this point; the report is of what was before.
func (s *Stream) Stop() (Report, error) {
	s.stop()
	timer := time.NewTimer(s.probe.Patience)
	defer timer.Stop()
	for waiting := true; waiting && s.Answered() < s.Sent(); {
		select {
		case <-s.progress:
		case <-s.ended:
			waiting = false
		case <-timer.C:
			waiting = false
		}
	}
	err := s.failure()
	_ = s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.report(), err
}

// Close ends the stream without a report.
func (s *Stream) Close() error {
	s.stop()
	err := s.exchange.Close()
	s.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (s *Stream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("%s: after %d messages: %w", s.probe, len(s.record.sent), s.err)
}

func (s *Stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !errors.Is(err, net.ErrClosed) {
		s.err = err
		s.stop()
		close(s.ended)
	}
}

func (s *Stream) sendAll(ctx context.Context) {
	ticker := time.NewTicker(s.probe.Interval)
	defer ticker.Stop()
	for sequence := uint64(0); ctx.Err() == nil; sequence++ {
		s.mu.Lock()
		s.record.send(time.Now())
		s.mu.Unlock()
		m := message(s.nonce, sequence, s.probe.Size)
		err := s.exchange.send(m)
		if err != nil && isSilence(err) {
			err = s.exchange.send(m) // that was about an earlier message; this one wasn't sent
		}
		if err != nil && !isSilence(err) {
			s.fail(err)
			return
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func (s *Stream) receiveAll() {
	buffer := make([]byte, s.probe.Size)
	for {
		err := s.exchange.receive(buffer)
		switch {
		case err == nil && nonce(buffer) == s.nonce:
			s.note(buffer)
		case err == nil || isSilence(err) && s.probe.Protocol != TCP:
		default:
			s.fail(err)
			return
		}
	}
}

func (s *Stream) note(m []byte) {
	s.mu.Lock()
	latency, isNew := s.record.answer(sequenceOf(m), sourceOf(m), time.Now())
	isFirst := isNew && s.record.answered == 1
	s.mu.Unlock()
	if isFirst {
		s.first <- Answer{RoundTrip: latency, Source: sourceOf(m)}
	}
	select {
	case s.progress <- struct{}{}:
	default:
	}
}
