package overlay_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
)

// central of a group: its daemons and its databases.
type central struct {
	*stack
	group *resourcev1.ResourceGroup
}

var daemons = []string{"northd", "nb", "sb"}

// file of the central, such as nb.db.
func (c central) file(name string) string {
	return filepath.Join(c.dir, "ovn", "ovn-"+string(c.group.UID), name)
}

func (c central) pid(daemon string) int {
	c.t.Helper()
	return c.pidIn(c.file(daemon + ".pid"))
}

func (c central) signal(signal syscall.Signal) {
	c.t.Helper()
	for _, daemon := range daemons {
		c.Expect(syscall.Kill(c.pid(daemon), signal)).To(Succeed())
	}
}

// wipe kills all daemons and removes their databases.
func (c central) wipe() {
	c.t.Helper()
	for _, name := range []string{"nb.db", "sb.db"} {
		c.Expect(os.Remove(c.file(name))).To(Succeed())
	}
	c.signal(syscall.SIGKILL)
}

func (c central) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.t.Context(), patience)
}

func (c central) northbound() *ovn.Northbound {
	c.t.Helper()
	var n *ovn.Northbound
	c.Eventually(func() (err error) {
		n, err = ovn.DialNorthbound(c.t.Context(), "unix:"+c.file("nb.sock"), func(string) {})
		return err
	}).WithPolling(10 * time.Millisecond).Should(Succeed())
	return n
}

func (c central) southbound() *ovn.Southbound {
	c.t.Helper()
	var s *ovn.Southbound
	c.Eventually(func() (err error) {
		s, err = ovn.DialSouthbound(c.t.Context(), "unix:"+c.file("sb.sock"), func(string) {})
		return err
	}).WithPolling(10 * time.Millisecond).Should(Succeed())
	return s
}

// inFlows returns when all these DPUs are connected to the central that there is now, have the ports of their hosts, and have
// the flows of all that is written. So long a DPU may still drop what it had.
func (c central) inFlows(dpus ...string) {
	c.t.Helper()
	n, south := c.northbound(), c.southbound()
	defer n.Close()
	defer south.Close()
	ctx, cancel := c.context()
	defer cancel()
	c.Expect(south.Wait(ctx, func() (bool, error) {
		bindings, err := south.Bindings(ctx)
		up := map[string]bool{}
		for port, b := range bindings {
			if b.Up && (strings.HasPrefix(port, "host") || strings.HasPrefix(port, "member")) {
				up[b.Chassis] = true
			}
		}
		for _, dpu := range dpus {
			if !up[dpu] {
				return false, err
			}
		}
		return true, err
	})).To(Succeed())
	c.Expect(n.SyncChassis(ctx)).To(Succeed())
}

// pidIn a file.
func (s *stack) pidIn(path string) int {
	s.t.Helper()
	data, err := os.ReadFile(path)
	s.Expect(err).NotTo(HaveOccurred())
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	s.Expect(err).NotTo(HaveOccurred())
	return pid
}
