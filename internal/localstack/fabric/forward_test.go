package fabric_test

import (
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
)

var anyPort = netip.MustParseAddrPort("127.0.0.1:0")

func listen(t testing.TB, f *fabric.Fabric, node string) (listener *net.TCPListener) {
	t.Helper()
	NewWithT(t).Expect(f.Do(node, func() (err error) {
		listener, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(anyPort))
		return err
	})).To(Succeed())
	t.Cleanup(func() { listener.Close() })
	return listener
}

// echoAll answers a connection only when its client has said everything: it needs a half-closed connection.
func echoAll(t testing.TB, f *fabric.Fabric, node string) netip.AddrPort {
	t.Helper()
	listener := listen(t, f, node)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				said, _ := io.ReadAll(connection)
				_, _ = connection.Write(said)
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).AddrPort()
}

func dial(t testing.TB, f *fabric.Fabric, node string, address netip.AddrPort) *net.TCPConn {
	t.Helper()
	var connection net.Conn
	NewWithT(t).Expect(f.Do(node, func() (err error) {
		connection, err = net.DialTimeout("tcp", address.String(), 10*time.Second)
		return err
	})).To(Succeed())
	t.Cleanup(func() { connection.Close() })
	NewWithT(t).Expect(connection.SetDeadline(time.Now().Add(30 * time.Second))).To(Succeed())
	return connection.(*net.TCPConn)
}

func TestForward_joinsNamespacesThatAreNotConnected(t *testing.T) {
	t.Parallel()
	f := fabrictest.Up(t, fabric.Flat(1))
	for name, test := range map[string]struct{ from, to string }{
		"into the fabric":   {from: fabric.Root, to: fabric.Control},
		"out of the fabric": {from: fabric.Control, to: fabric.Root},
		"across it":         {from: "host1", to: "dpu1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			target := echoAll(t, f, test.to)
			forwarder, err := f.Forward(test.from, anyPort, test.to, target)
			g.Expect(err).NotTo(HaveOccurred())

			connection := dial(t, f, test.from, forwarder.Address())
			said := make([]byte, 1<<20)
			go func() {
				_, _ = connection.Write(said)
				_ = connection.CloseWrite()
			}()
			g.Expect(io.ReadAll(connection)).To(Equal(said))
		})
	}
}

func TestForward_resetsWithoutATarget(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := fabrictest.Up(t, fabric.Flat(1))
	forwarder, err := f.Forward("host1", anyPort, fabric.Control, netip.MustParseAddrPort("127.0.0.1:1"))
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(f.Do("host1", func() error {
		connection, err := net.Dial("tcp", forwarder.Address().String()) // the reset may come as early as here
		if err == nil {
			defer connection.Close()
			_, err = connection.Read(make([]byte, 1))
		}
		return err
	})).To(MatchError(syscall.ECONNRESET))
}

func TestForward_closeEndsItsConnections(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := fabrictest.Up(t, fabric.Flat(1))
	listener := listen(t, f, fabric.Control)
	forwarder, err := f.Forward("host1", anyPort, fabric.Control, listener.Addr().(*net.TCPAddr).AddrPort())
	g.Expect(err).NotTo(HaveOccurred())
	near := dial(t, f, "host1", forwarder.Address())
	far, err := listener.Accept()
	g.Expect(err).NotTo(HaveOccurred())
	defer far.Close()
	g.Expect(far.SetDeadline(time.Now().Add(30 * time.Second))).To(Succeed())

	g.Expect(forwarder.Close()).To(Succeed())
	for _, connection := range []net.Conn{near, far} {
		_, err = connection.Read(make([]byte, 1))
		g.Expect(err).To(Or(MatchError(io.EOF), MatchError(syscall.ECONNRESET)))
	}
	g.Expect(f.Do("host1", func() error {
		_, err := net.Dial("tcp", forwarder.Address().String())
		return err
	})).To(MatchError(syscall.ECONNREFUSED))
}
