package central

import (
	"net"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A daemon that was stopped hasn't ended by itself.
func TestWatch_tellsOfThoseThatEndByThemselves(t *testing.T) { //nolint:paralleltest // the counter is everybody's
	g := NewWithT(t)
	p := NewProcesses(t.Context(), t.TempDir(), loopback)
	d := daemon{control: filepath.Join(p.Dir, "nb.ctl")}
	listener, err := net.Listen("unix", d.control)
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	watched := func() net.Conn {
		p.watch("blue", d)
		connection, err := listener.Accept()
		g.Expect(err).NotTo(HaveOccurred())
		return connection
	}
	before := testutil.ToFloat64(restarts)
	first := watched()
	p.unwatch(d)
	g.Expect(first.Close()).To(Succeed())
	g.Consistently(p.Died(), "200ms").ShouldNot(Receive())
	g.Expect(testutil.ToFloat64(restarts)).To(Equal(before))
	g.Expect(watched().Close()).To(Succeed())
	g.Eventually(p.Died(), "1m").Should(Receive(Equal("blue")))
	g.Expect(testutil.ToFloat64(restarts)).To(Equal(before + 1))
}
