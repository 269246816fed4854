package openvswitch

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/openvswitch/openvswitchtest"
	"github.com/bedplate/bedplate/internal/openvswitch/vswitchd"
)

// database is a connection to a real one.
type database struct {
	*WithT
	*Database
	server *openvswitchtest.Server
}

func connected(t *testing.T) *database {
	t.Helper()
	d := &database{WithT: NewWithT(t), server: openvswitchtest.Start(t)}
	var err error
	d.Database, err = New(d.server.Endpoint, func() {})
	d.Expect(err).NotTo(HaveOccurred())
	d.Connect(t.Context())
	t.Cleanup(d.Close)
	return d
}

// The first copy of the database doesn't come in time, nor does the answer to the next connection: the library connected by itself beside
// us then, and took what we read for out of date for ever.
func TestConnect_goesOnAfterAMonitorWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	d := connected(t)
	socket := filepath.Join(filepath.Dir(strings.TrimPrefix(d.server.Endpoint, "unix:")), "slow.sock")
	listener, err := net.Listen("unix", socket)
	d.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { listener.Close() })
	go func() {
		for n := 0; ; n++ {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go d.forward(connection, n)
		}
	}()
	slow, err := New("unix:"+socket, func() {})
	d.Expect(err).NotTo(HaveOccurred())
	slow.Connect(t.Context())
	t.Cleanup(slow.Close)
	d.Consistently(func() error { _, err := slow.Snapshot(); return err }).WithTimeout(5 * retryInterval).Should(Succeed())
}

// forward the nth connection to the database, of which the first gets no answer to its monitor, and the second none at all.
func (d *database) forward(connection net.Conn, n int) {
	defer connection.Close()
	server, err := net.Dial("unix", strings.TrimPrefix(d.server.Endpoint, "unix:"))
	if err != nil {
		return
	}
	defer server.Close()
	answers := make(chan struct{})
	if n != 1 {
		go func() { defer close(answers); io.Copy(connection, server) }()
	}
	for buffer := make([]byte, 1<<16); ; {
		read, err := connection.Read(buffer)
		if err != nil || n == 0 && bytes.Contains(buffer[:read], []byte(`"monitor`)) {
			break
		}
		server.Write(buffer[:read])
	}
	io.Copy(io.Discard, connection) // until the client has enough
}

// TestList_endsWithoutADatabase: the connection may be lost right after it was checked.
func TestList_endsWithoutADatabase(t *testing.T) {
	t.Parallel()
	d := connected(t)
	d.Expect(d.Snapshot()).NotTo(BeNil())
	d.Expect(d.server.Process.Kill()).To(Succeed())
	d.Eventually(d.Connected).WithTimeout(time.Minute).Should(BeFalse())
	listed := make(chan error, 1)
	go func() { listed <- d.list(&[]vswitchd.OpenvSwitch{}) }()
	d.Eventually(listed).WithTimeout(5 * readTimeout).Should(Receive(MatchError(context.DeadlineExceeded)))
}
