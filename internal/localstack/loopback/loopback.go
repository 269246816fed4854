// Package loopback shares the 65,000 networks of 127.0.0.0/8 among the labs and tests of one computer. Each claims a /16
// of its own, so that every simulated machine has real ports, and two labs never meet.
package loopback

import (
	"crypto/rand"
	"errors"
	"fmt"

	"net"
	"net/netip"
	"syscall"
)

const (
	// claimPort is bound as the mark of a claimed block. The kernel drops the mark when its owner dies. A program that
	// listens on this port of *all* addresses would be in the way of every API server: so this is the right port to try.
	claimPort = 6443

	blocks = 254 // 127.1.0.0/16 to 127.254.0.0/16: 127.0.0.0/16 is everybody's

	// firstPort and portsPerBlock: see Port. All are below Linux's ports for outgoing connections (32768 and up).
	firstPort     = 20000
	portsPerBlock = 48
)

// machinePorts are bound on machines' addresses: etcd, its peers, and the kubelet.
var machinePorts = []uint16{2379, 2380, 10250}

// Block is a claimed /16 within 127.0.0.0/8. It is not safe for concurrent use.
type Block struct {
	octet byte
	mark  net.Listener
	used  uint16 // ports tried by Port
}

// Claim claims a free block. Close releases it; so does the end of this process.
func Claim() (*Block, error) {
	var last error
	var random [1]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("claim loopback addresses: %w", err)
	}
	for n := range byte(blocks) {
		block := &Block{octet: 1 + (random[0]%blocks+n)%blocks}
		mark, err := listen(block.Address(255, 254), claimPort)
		if err == nil {
			block.mark = mark
			if err := block.checkPorts(); err != nil {
				block.Close()
				return nil, err
			}
			return block, nil
		}
		last = err
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, fmt.Errorf("claim loopback addresses: %w (does another program listen on port %d of all addresses?)",
		last, claimPort)
}

// checkPorts finds programs that listen on all addresses before a machine stumbles over them.
func (b *Block) checkPorts() error {
	for _, port := range machinePorts {
		listener, err := listen(b.Address(255, 254), port)
		if err != nil {
			return fmt.Errorf("port %d is needed by the machines, but another program listens on it on all addresses: %w",
				port, err)
		}
		_ = listener.Close()
	}
	return nil
}

// Address returns 127.x.third.fourth of the block. The addresses above 127.x.255.250 belong to this package.
func (b *Block) Address(third, fourth byte) netip.Addr {
	return netip.AddrFrom4([4]byte{127, b.octet, third, fourth})
}

// Machines returns the part of the block for machines: its lower half. The rest is for the simulator that runs them.
func (b *Block) Machines() netip.Prefix {
	return netip.PrefixFrom(b.Address(0, 0), 17)
}

// Port returns a port that is free on *all* addresses, for programs that can't listen on one. Each block has ports of its
// own, so that two labs don't choose the same one.
func (b *Block) Port() (int, error) {
	for b.used < portsPerBlock {
		port := firstPort + uint16(b.octet)*portsPerBlock + b.used
		b.used++
		listener, err := listen(netip.IPv4Unspecified(), port)
		if err == nil {
			_ = listener.Close()
			return int(port), nil
		}
	}
	first := firstPort + uint16(b.octet)*portsPerBlock
	return 0, fmt.Errorf("no free port among %d to %d", first, first+portsPerBlock-1)
}

// Close releases the block.
func (b *Block) Close() {
	_ = b.mark.Close()
}

func listen(address netip.Addr, port uint16) (net.Listener, error) {
	return net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, port)))
}
