package agent

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
)

func TestUncut_isAboutPortsThatNobodyHas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	failed := errors.New("take p0 down: no such device")
	a := &Agent{status: status{uncut: map[string]error{"p0": failed}}}
	l := &ledger.Ledger{}
	l.Meet("p0", 1)
	g.Expect(a.uncut(l)).To(MatchError(failed))
	to := ledger.Assignment{Network: ledger.Network{Group: "red"}, Resource: "uid-a", LogicalPort: "port-a"}
	g.Expect(l.Attach("p0", 1, to, time.Hour, time.Time{})).To(Succeed())
	g.Expect(a.uncut(l)).To(Succeed())
	g.Expect(a.snapshot().uncut).To(BeEmpty(), "nor is it reported any more")
}

func TestNew_hasNotLookedYet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a, err := New(options(t, "--uplink=none", "--datapath=netdev", "--state-dir="+t.TempDir(), "--ovs-db=unix:/nowhere/db.sock"))
	g.Expect(err).NotTo(HaveOccurred())
	l := &ledger.Ledger{}
	l.Meet("lo", 1)
	g.Expect(port("lo", l, vswitch.PortState{}, a.snapshot()).GetProblem()).NotTo(BeEmpty())
}
