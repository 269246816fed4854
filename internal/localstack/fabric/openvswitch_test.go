package fabric_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

func TestKeepSwitches_startsThemAgainAndSaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(20 * time.Second)
	f := fabrictest.Up(t, fabric.Flat(2))
	told := make(chan error, 8)
	f.KeepSwitches(func(err error) { told <- err })
	pid := func(dpu string) int { // 0 while there is none
		data, _ := os.ReadFile(filepath.Join(f.RunDir(dpu), "ovs-vswitchd.pid"))
		number, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		return number
	}
	other := pid("dpu2")
	g.Expect(other).NotTo(BeZero())
	for range 2 {
		killed := pid("dpu1")
		g.Expect(killed).To(BeNumerically(">", 0))
		g.Expect(syscall.Kill(killed, syscall.SIGKILL)).To(Succeed())
		var end error
		g.Eventually(told).Should(Receive(&end))
		var again *process.Restarted
		g.Expect(errors.As(end, &again)).To(BeTrue())
		g.Expect(end).To(MatchError(ContainSubstring("started again: ovs-vswitchd of dpu1 ended (signal: killed)")))
		g.Eventually(func() int { return pid("dpu1") }).ShouldNot(Or(Equal(killed), BeZero()))
	}
	g.Expect(pid("dpu2")).To(Equal(other))
	g.Expect(f.Down()).To(Succeed())
	g.Consistently(told).ShouldNot(Receive(), "this end was asked for")
}
