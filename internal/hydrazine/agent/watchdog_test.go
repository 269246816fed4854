package agent

import (
	"net"
	"path/filepath"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// Not parallel: systemd says by the environment where it listens.
func TestWatchdog_isFedWhilePortsCanBeCut(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	g.Expect(err).NotTo(HaveOccurred())
	defer systemd.Close()
	said := make(chan string, 8)
	go func() {
		buffer := make([]byte, 100)
		for {
			n, err := systemd.Read(buffer)
			if err != nil {
				return
			}
			said <- string(buffer[:n])
		}
	}()
	t.Setenv("NOTIFY_SOCKET", path)

	var w watchdog
	var needed sync.Mutex
	feed := w.feeder(&needed)
	g.Expect(w.expired()).To(BeTrue(), "not ready before the first look")
	feed()
	g.Eventually(said, "1m").Should(Receive(Equal("READY=1\nWATCHDOG=1")))
	g.Expect(w.expired()).To(BeFalse())
	feed()
	g.Eventually(said, "1m").Should(Receive(Equal("WATCHDOG=1")))

	needed.Lock() // for ever, as in a deadlock
	w.fed.Store(int64(sinceBoot() - stuckAfter - 1))
	fed := make(chan struct{})
	go func() { feed(); close(fed) }()
	g.Consistently(said).ShouldNot(Receive())
	g.Expect(w.expired()).To(BeTrue())
	needed.Unlock()
	g.Eventually(fed, "1m").Should(BeClosed())
	g.Expect(w.expired()).To(BeFalse())
}

func TestNotify_withoutSystemd(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	NewWithT(t).Expect(notify("WATCHDOG=1")).To(Succeed())
}
