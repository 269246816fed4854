// Package egresstest has names that lead where a test wants them to, whatever the network knows.
package egresstest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// Names is a DNS server without a network: it answers with the IPv4 addresses that Lookup says, and remembers the questions.
type Names struct {
	Lookup func(name string) []string

	mu    sync.Mutex
	asked []string
}

// Resolver asks the server.
func (n *Names) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe() // a stream, so that questions have their length before them
		go n.serve(server)
		return client, nil
	}}
}

func (n *Names) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length uint16
		if binary.Read(conn, binary.BigEndian, &length) != nil {
			return
		}
		question := make([]byte, length)
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(question) != nil {
			return
		}
		answer, err := n.answer(m)
		if err != nil {
			return
		}
		_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	}
}

func (n *Names) answer(m dnsmessage.Message) ([]byte, error) {
	q := m.Questions[0]
	m.Response = true
	m.Additionals = nil
	n.mu.Lock()
	n.asked = append(n.asked, q.Name.String())
	n.mu.Unlock()
	if q.Type == dnsmessage.TypeA {
		for _, text := range n.Lookup(strings.TrimSuffix(q.Name.String(), ".")) {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(text).As4()},
			})
		}
	}
	return m.Pack()
}

// Questions are the names that were asked for so far.
func (n *Names) Questions() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.asked...)
}
