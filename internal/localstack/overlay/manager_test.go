package overlay

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

func TestManager_thatEndsIsStartedAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(20 * time.Second)
	f := fabrictest.Up(t, fabric.Topology{Subnets: []fabric.Subnet{{
		Name: "rack", Gateways: []netip.Prefix{netip.MustParsePrefix("172.18.0.1/24")},
		Servers: []fabric.Server{{Name: fabric.Control, Addresses: []netip.Addr{netip.MustParseAddr("172.18.0.2")}}},
	}}})
	dir := fabrictest.Dir(t)
	runs, program := filepath.Join(dir, "runs"), filepath.Join(dir, "manager")
	g.Expect(os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >> "+runs+"\nexit 3\n"), 0o700)).To(Succeed())
	ends := make(chan error, 32)
	o, err := newOverlay(f, Config{Dir: dir, Manager: program, KeepManager: true, Crashed: func(err error) { ends <- err }})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.StartManager(t.Context(), "--more")).To(MatchError(ContainSubstring("exit status 3")))
	for range 2 {
		var end error
		g.Eventually(ends).Should(Receive(&end))
		var again *process.Restarted
		g.Expect(errors.As(end, &again)).To(BeTrue())
		g.Expect(end).To(MatchError(ContainSubstring("started again: hydrazine-manager ended (exit status 3)")))
	}
	said := func() int {
		lines, _ := os.ReadFile(runs)
		return strings.Count(string(lines), "--more")
	}
	g.Eventually(said).Should(BeNumerically(">=", 2))
	g.Expect(o.Stop()).To(Succeed())
	after := said()
	g.Consistently(said, 2*restartPause).Should(BeNumerically("<=", after+1))
}
