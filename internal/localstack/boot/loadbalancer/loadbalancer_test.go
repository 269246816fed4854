package loadbalancer_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/boot/loadbalancer"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
)

// backend accepts connections and greets each with its name.
func backend(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Write([]byte(name))
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return netip.MustParseAddrPort(listener.Addr().String())
}

// patience is for what a load balancer does by itself, also where others have the processors.
const patience = time.Minute

// freeEndpoint is in a block of addresses that nothing else listens in.
func freeEndpoint(t *testing.T) netip.AddrPort {
	t.Helper()
	block, err := loopback.Claim()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(block.Close)
	return netip.AddrPortFrom(block.Address(200, 1), 6443)
}

// greetings are those of some connections, one after the other.
func greetings(t *testing.T, endpoint string, number int) (all []string) {
	t.Helper()
	for range number {
		all = append(all, greeting(t, dial(t, endpoint)))
	}
	return all
}

// listen starts a load balancer whose backends are healthy unless they are listed as sick.
func listen(t *testing.T, sick ...netip.AddrPort) (*loadbalancer.LoadBalancer, string) {
	t.Helper()
	return listenWith(t, func(_ context.Context, backend netip.AddrPort) error {
		if slices.Contains(sick, backend) {
			return errors.New("sick")
		}
		return nil
	})
}

func listenWith(t *testing.T, check loadbalancer.Check) (*loadbalancer.LoadBalancer, string) {
	t.Helper()
	endpoint := freeEndpoint(t)
	balancer, err := loadbalancer.Listen(endpoint, check, slog.New(slog.DiscardHandler))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(balancer.Close)
	return balancer, endpoint.String()
}

func dial(t *testing.T, endpoint string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", endpoint)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { conn.Close() })
	NewWithT(t).Expect(conn.SetDeadline(time.Now().Add(patience))).To(Succeed())
	return conn
}

func greeting(t *testing.T, conn net.Conn) string {
	t.Helper()
	buffer := make([]byte, 1)
	if _, err := io.ReadFull(conn, buffer); err != nil {
		return err.Error()
	}
	return string(buffer)
}

func TestForward_carriesBothDirections(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	balancer, endpoint := listen(t)
	balancer.Add(backend(t, "a"))

	conn := dial(t, endpoint)
	g.Expect(greeting(t, conn)).To(Equal("a"))
	_, err := conn.Write([]byte("x"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(greeting(t, conn)).To(Equal("x"))
}

func TestForward_usesAllBackendsThatAnswer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	balancer, endpoint := listen(t)
	balancer.Add(backend(t, "a"))
	balancer.Add(freeEndpoint(t)) // nothing listens there
	balancer.Add(backend(t, "b"))

	g.Eventually(func() []string { // one of them may pass its first check before the other
		all := greetings(t, endpoint, 6)
		g.Expect(all).To(HaveEach(BeElementOf("a", "b")))
		return all
	}).WithTimeout(patience).Should(ContainElements("a", "b"))
}

func TestForward_usesOnlyHealthyBackends(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sick := backend(t, "s")
	balancer, endpoint := listen(t, sick)
	balancer.Add(sick)
	g.Expect(greeting(t, dial(t, endpoint))).To(Equal("s"), "there is no other")

	balancer.Add(backend(t, "a"))
	g.Eventually(func() []string { return greetings(t, endpoint, 4) }).WithTimeout(patience).Should(HaveEach("a"))
	g.Expect(greetings(t, endpoint, 4)).To(HaveEach("a"))
}

func TestForward_breaksTheConnectionsOfABackendThatFellIll(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first := backend(t, "a")
	var passed atomic.Int32
	var ill atomic.Bool
	balancer, endpoint := listenWith(t, func(_ context.Context, backend netip.AddrPort) error {
		if backend == first && ill.Load() {
			return errors.New("ill")
		}
		passed.Add(1)
		return nil
	})
	balancer.Add(first)
	conn := dial(t, endpoint)
	g.Expect(greeting(t, conn)).To(Equal("a"))
	g.Eventually(passed.Load).WithTimeout(patience).Should(BeNumerically(">", 0))

	balancer.Add(backend(t, "b"))
	ill.Store(true)
	_, err := conn.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(io.EOF))
	g.Eventually(func() string { return greeting(t, dial(t, endpoint)) }).WithTimeout(patience).Should(Equal("b"))

	ill.Store(false)
	g.Eventually(func() string { return greeting(t, dial(t, endpoint)) }).WithTimeout(patience).Should(Equal("a"))
}

func TestForward_closesTheConnectionWithoutABackend(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	balancer, endpoint := listen(t)
	gone := backend(t, "a")
	balancer.Add(gone)
	g.Expect(balancer.Remove(gone)).To(Equal(0))

	g.Expect(greeting(t, dial(t, endpoint))).To(Equal(io.EOF.Error()))
}

func TestClose_breaksConnections(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	balancer, endpoint := listen(t)
	balancer.Add(backend(t, "a"))
	conn := dial(t, endpoint)
	g.Expect(greeting(t, conn)).To(Equal("a"))

	balancer.Close()
	_, err := conn.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred())
	_, err = net.Dial("tcp", endpoint)
	g.Expect(err).To(HaveOccurred())
}
