package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"
)

// readSize is more than any message that is relayed; what is longer is truncated, and refused.
const readSize = 2048

// Relay is a relay with its sockets.
type Relay struct {
	protocol
	from   netip.Addr     // the server
	hosts  net.PacketConn // frames
	server *net.UDPConn
}

// Open opens the sockets: a raw one on the interface, and one on the DPU's address, which receives from the server alone. Only
// requests of hosts behind the DPU are relayed.
func Open(s Settings, behind Hosts) (*Relay, error) {
	frames, err := listen(s)
	if err != nil {
		return nil, fmt.Errorf("hear hosts by %s: %w", s.Interface, err)
	}
	port := uint16(serverPort4)
	if s.Server.Is6() {
		port = serverPort6
	}
	own, server := netip.AddrPortFrom(s.Underlay, port), netip.AddrPortFrom(s.Server, port)
	datagrams, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(own), net.UDPAddrFromAddrPort(server))
	if err != nil {
		_ = frames.Close()
		return nil, fmt.Errorf("speak to the server %s as %s: %w", s.Server, own, err)
	}
	return &Relay{s.protocol(behind), s.Server, frames, datagrams}, nil
}

// Run relays until ctx ends, then it returns nil, or until a socket fails. Afterwards the sockets are closed. heard is called
// with the result of a request: nil if the server has answered, or why it can't be reached. It may be called concurrently,
// and has to return soon.
func (r *Relay) Run(ctx context.Context, heard func(error)) error {
	defer r.server.Close() // before it returns: the next relay needs the address
	group, ending := errgroup.WithContext(ctx)
	context.AfterFunc(ending, func() { _, _ = r.hosts.Close(), r.server.Close() })
	group.Go(func() error { return r.requests(ending, heard) })
	group.Go(func() error { return r.answers(ending, heard) })
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

func (r *Relay) requests(ctx context.Context, heard func(error)) error {
	buffer, refusals := make([]byte, readSize), rate.Sometimes{Interval: time.Minute} // a host may fill the DPU's disk otherwise
	for {
		n, _, err := r.hosts.ReadFrom(buffer)
		if err != nil {
			return fmt.Errorf("hear hosts: %w", err)
		}
		message, err := r.request(buffer[:n], time.Now())
		if err != nil {
			refusals.Do(func() {
				slog.WarnContext(ctx, "Requests aren't passed on, one of them", "host", sender(buffer[:n]), "reason", err)
			})
			continue
		}
		if _, err := r.server.Write(message); err != nil {
			heard(fmt.Errorf("ask the server: %w", err))
		}
	}
}

// sender of a frame.
func sender(frame []byte) string {
	if len(frame) < ethernetHeader {
		return ""
	}
	return MAC(frame[6:12]).String()
}

func (r *Relay) answers(ctx context.Context, heard func(error)) error {
	buffer := make([]byte, readSize)
	for {
		n, err := r.server.Read(buffer)
		if unreachable(err) { // as the fabric reported after the last request
			heard(fmt.Errorf("ask the server: %w", err))
			continue
		}
		if err != nil {
			return fmt.Errorf("hear the server: %w", err)
		}
		frame, err := r.answer(buffer[:n], r.from)
		if err != nil {
			slog.DebugContext(ctx, "An answer isn't passed on", "reason", err)
			continue
		}
		heard(nil)
		if _, err := r.hosts.WriteTo(frame, &packet.Addr{HardwareAddr: frame[:6]}); err != nil {
			slog.WarnContext(ctx, "A host isn't answered", "error", err) // the others are relayed, and this client retries
		}
	}
}

func unreachable(err error) bool {
	for _, each := range []error{unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EPROTO, unix.EACCES, unix.EMSGSIZE} {
		if errors.Is(err, each) {
			return true
		}
	}
	return false
}

// listen receives frames for a DHCP server.
func listen(s Settings) (net.PacketConn, error) {
	found, err := net.InterfaceByName(s.Interface)
	if err != nil {
		return nil, err
	}
	kind, program := typeIPv4, filter4
	if s.Server.Is6() {
		kind, program = typeIPv6, filter6
	}
	filter, err := bpf.Assemble(program())
	if err != nil {
		return nil, err
	}
	return packet.Listen(found, packet.Raw, kind, &packet.Config{Filter: filter})
}

// filter4 spares the agent what isn't for a DHCP server, in the kernel.
func filter4() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: ethernetHeader + 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolUDP, SkipTrue: 5},
		bpf.LoadAbsolute{Off: ethernetHeader + 6, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: 0x3fff, SkipTrue: 3}, // a fragment
		bpf.LoadMemShift{Off: ethernetHeader},
		bpf.LoadIndirect{Off: ethernetHeader + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: serverPort4, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: readSize},
	}
}

func filter6() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: ethernetHeader + 6, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolUDP, SkipTrue: 2},
		bpf.LoadAbsolute{Off: ethernetHeader + ipv6Header + 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: serverPort6, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: readSize},
	}
}
