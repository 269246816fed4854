//go:build unix

package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
)

// Suspend it: connections stay, and nothing is answered until the returned function is called.
func (s *APIServer) Suspend(t testing.TB) (resume func()) {
	t.Helper()
	g := NewWithT(t)
	pid, err := s.pid()
	g.Expect(err).NotTo(HaveOccurred())
	resume = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	t.Cleanup(resume)
	g.Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(Succeed())
	return resume
}

// pid of the child that serves the port: envtest doesn't tell it.
func (s *APIServer) pid() (int, error) {
	port := "--secure-port=" + s.env.ControlPlane.APIServer.Port
	programs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range programs {
		line, readErr := os.ReadFile(file)
		if readErr == nil && strings.Contains(string(line), port+"\x00") {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("no process serves port %s: %w", s.env.ControlPlane.APIServer.Port, err)
}
