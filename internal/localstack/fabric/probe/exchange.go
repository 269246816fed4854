package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
)

// connectPatience is short, as the kernel repeats a lost SYN only after a second.
const connectPatience = 250 * time.Millisecond

// exchange carries messages of one size there and back.
type exchange interface {
	send(message []byte) error
	// receive blocks until a message has come, or the exchange is closed. It may be another probe's.
	receive(buffer []byte) error
	Close() error
}

// open makes the sockets of a probe in its namespace. For TCP it connects, again and again, until ctx ends.
func open(ctx context.Context, p Probe) (exchange, error) {
	if err := checkRoute(p); err != nil {
		return nil, err
	}
	for {
		var opened exchange
		err := namespace.Do(p.From, func() (err error) {
			opened, err = dial(ctx, p)
			return err
		})
		switch {
		case err == nil:
			return opened, nil
		case !isSilence(err):
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		wait(ctx, p.Interval) // an unreachable network may say so at once
	}
}

func wait(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}

func dial(ctx context.Context, p Probe) (exchange, error) {
	if p.Protocol == ICMP {
		return newPing(p.To.Addr())
	}
	dialer := net.Dialer{Timeout: connectPatience}
	connection, err := dialer.DialContext(ctx, string(p.Protocol), p.To.String())
	if err != nil {
		return nil, err
	}
	return socket{connection}, nil
}

// isSilence is true for what the kernel says when nothing came back, or when a router on the way didn't know further.
func isSilence(err error) bool {
	for _, silence := range []error{
		os.ErrDeadlineExceeded, context.DeadlineExceeded, syscall.ETIMEDOUT,
		syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN, syscall.ENOBUFS,
	} {
		if errors.Is(err, silence) {
			return true
		}
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// socket is UDP or TCP.
type socket struct{ net.Conn }

func (s socket) send(message []byte) error {
	_, err := s.Write(message)
	return err
}

func (s socket) receive(buffer []byte) error {
	_, err := io.ReadFull(s, buffer)
	return err
}

// ping is ICMP's echo.
type ping struct {
	*icmp.PacketConn
	to       netip.Addr
	protocol int // number of ICMP in an IP header
	request  icmp.Type
	reply    icmp.Type
}

func newPing(to netip.Addr) (*ping, error) {
	p := &ping{to: to, protocol: 1, request: ipv4.ICMPTypeEcho, reply: ipv4.ICMPTypeEchoReply}
	network, any := "ip4:icmp", "0.0.0.0"
	if to.Is6() {
		p.protocol, p.request, p.reply = 58, ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply
		network, any = "ip6:ipv6-icmp", "::"
	}
	connection, err := icmp.ListenPacket(network, any)
	if err != nil {
		return nil, err
	}
	p.PacketConn = connection
	return p, nil
}

func (p *ping) send(message []byte) error {
	echo := &icmp.Echo{ID: os.Getpid() & 0xffff, Seq: int(sequenceOf(message) & 0xffff), Data: message}
	packet, err := (&icmp.Message{Type: p.request, Body: echo}).Marshal(nil)
	if err != nil {
		return fmt.Errorf("make ping: %w", err)
	}
	_, err = p.WriteTo(packet, &net.IPAddr{IP: p.to.AsSlice()})
	return err
}

// receive passes over everything else: a raw socket gets the ICMP of its whole namespace.
func (p *ping) receive(buffer []byte) error {
	packet := make([]byte, maxSize+8)
	for {
		length, from, err := p.ReadFrom(packet)
		if err != nil {
			return err
		}
		parsed, err := icmp.ParseMessage(p.protocol, packet[:length])
		if err != nil || parsed.Type != p.reply || !from.(*net.IPAddr).IP.Equal(p.to.AsSlice()) {
			continue
		}
		if echo, ok := parsed.Body.(*icmp.Echo); ok && len(echo.Data) == len(buffer) {
			copy(buffer, echo.Data)
			return nil
		}
	}
}
