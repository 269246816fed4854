// Package probe asks whether packets pass between network namespaces: once, or all the time while something happens. Its
// sockets are made in the namespaces; no packet costs a process.
package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
)

// ErrNoAnswer says that nothing came back in time. Every other error means that the question couldn't be asked, or that it
// came through and was refused: it says nothing about isolation.
var ErrNoAnswer = errors.New("no answer")

// Protocol is what a probe is sent with.
type Protocol string

// Protocols. UDP and TCP are answered by a Server, ICMP by the kernel of whatever has the address. An OVN router answers
// ICMP to its own addresses, those included that it translates.
const (
	ICMP Protocol = "icmp"
	UDP  Protocol = "udp"
	TCP  Protocol = "tcp"
)

// Probe says what to ask.
type Probe struct {
	From     string // namespace; "" is this process's own
	Protocol Protocol
	To       netip.AddrPort // ICMP has no port
	Size     int            // of the payload, in bytes; 0 means the smallest, 36
	Interval time.Duration  // between two messages; 0 means 10 ms
	Patience time.Duration  // how long an answer may take; 0 means 1 s
}

const (
	defaultInterval = 10 * time.Millisecond
	defaultPatience = time.Second
)

// Answer is what a probe has found out.
type Answer struct {
	RoundTrip time.Duration
	Source    netip.Addr // what the server saw the message come from; invalid for ICMP
}

// String describes the probe, for messages.
func (p Probe) String() string {
	to := p.To.String()
	if p.Protocol == ICMP {
		to = p.To.Addr().String()
	}
	return fmt.Sprintf("%s from %q to %s", p.Protocol, p.From, to)
}

func (p Probe) withDefaults() (Probe, error) {
	if p.Size == 0 {
		p.Size = headerSize
	}
	if p.Interval == 0 {
		p.Interval = defaultInterval
	}
	if p.Patience == 0 {
		p.Patience = defaultPatience
	}
	known := p.Protocol == ICMP || p.Protocol == UDP || p.Protocol == TCP
	if !known || !p.To.Addr().IsValid() || p.Size < headerSize || p.Size > maxSize {
		return p, fmt.Errorf("%s with %d bytes: malformed probe", p, p.Size)
	}
	return p, nil
}

// Reach asks until the first answer, at most for as long as p.Patience; then the error is an ErrNoAnswer.
func Reach(ctx context.Context, p Probe) (Answer, error) {
	began := time.Now()
	p, err := p.withDefaults()
	if err != nil {
		return Answer{}, err
	}
	s, err := Start(ctx, p)
	if err != nil {
		return Answer{}, err
	}
	defer s.Close()
	timer := time.NewTimer(p.Patience - time.Since(began))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("%s: %w", p, context.Cause(ctx))
	case <-timer.C:
		return Answer{}, fmt.Errorf("%s: %w to %d messages", p, ErrNoAnswer, s.Sent())
	case <-s.ended:
		return Answer{}, s.failure()
	case answer := <-s.first:
		return answer, nil
	}
}

// checkRoute distinguishes a namespace without a route, which is a mistake of the caller, from a network that doesn't
// answer.
func checkRoute(p Probe) error {
	return namespace.Do(p.From, func() error {
		// Connecting a UDP socket sends nothing.
		connection, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(p.To.Addr(), 1)))
		if err != nil {
			return err
		}
		return connection.Close()
	})
}
