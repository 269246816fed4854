package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
)

// Server answers each message over UDP and TCP with itself, and says in it from where it came.
type Server struct {
	datagrams *net.UDPConn
	listener  net.Listener
	received  atomic.Uint64
	running   sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	connections map[net.Conn]bool
}

// Serve serves a port on all addresses of a namespace.
func Serve(in string, port uint16) (*Server, error) {
	s := &Server{connections: map[net.Conn]bool{}}
	err := namespace.Do(in, func() error {
		listen, address := net.ListenConfig{}, fmt.Sprintf(":%d", port)
		datagrams, err := listen.ListenPacket(context.Background(), "udp", address)
		if err != nil {
			return err
		}
		s.datagrams = datagrams.(*net.UDPConn)
		if s.listener, err = listen.Listen(context.Background(), "tcp", address); err != nil {
			_ = datagrams.Close()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("serve probes: %w", err)
	}
	s.running.Go(s.answerDatagrams)
	s.running.Go(s.accept)
	return s, nil
}

// Received returns how many messages have come, whether or not the answers came through.
func (s *Server) Received() uint64 { return s.received.Load() }

// Close returns when nothing is answered any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	for connection := range s.connections {
		_ = connection.Close()
	}
	s.mu.Unlock()
	err := errors.Join(s.datagrams.Close(), s.listener.Close())
	s.running.Wait()
	return err
}

func (s *Server) answerDatagrams() {
	buffer := make([]byte, maxSize+1)
	for {
		length, source, err := s.datagrams.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || length < headerSize {
			continue // no sender to answer
		}
		s.received.Add(1)
		setSource(buffer, source.Addr())
		_, _ = s.datagrams.WriteToUDPAddrPort(buffer[:length], source)
	}
}

func (s *Server) accept() {
	for {
		connection, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Second) // too many open files
			continue
		}
		if s.remember(connection) {
			s.running.Go(func() { s.answerStream(connection) })
		}
	}
}

func (s *Server) remember(connection net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = connection.Close()
		return false
	}
	s.connections[connection] = true
	return true
}

func (s *Server) answerStream(connection net.Conn) {
	defer func() {
		_ = connection.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.connections, connection)
	}()
	source := connection.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
	for {
		m, err := readMessage(connection)
		if err != nil {
			return
		}
		s.received.Add(1)
		setSource(m, source)
		if _, err := connection.Write(m); err != nil {
			return
		}
	}
}

func readMessage(from io.Reader) ([]byte, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(from, header); err != nil {
		return nil, err
	}
	size := sizeOf(header)
	if size < headerSize || size > maxSize {
		return nil, fmt.Errorf("message of %d bytes", size)
	}
	m := make([]byte, size)
	copy(m, header)
	_, err := io.ReadFull(from, m[headerSize:])
	return m, err
}
