package controller_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
	"github.com/bedplate/bedplate/internal/hydrazine/unixctl"
)

// If an agent is dead for good, only ovn-controller can remove the host's flows.
func TestGroup_tellsItsDPUsBeforeItGoes(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent, said, deletion := f.watched()
	agent.Refuse(errDead)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.gone(group)
	f.Eventually(said).Should(deletion)
}

// On a busy computer ovn-northd takes seconds.
func TestGroup_waitsForNorthdBeforeItGoes(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, _, said, deletion := f.watched()
	f.hearsNothing(group, "dpu2")
	goesOn := f.northd(group)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.Expect(f.becomes(group, resourcev1.CentralReadyCondition, metav1.ConditionFalse, "CentralEnding")).
		To(Equal("the OVN central isn't deleted: OVN still removes the network from the DPUs"))
	f.Consistently(func() error {
		return f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)
	}, "5s").Should(Succeed())
	goesOn()
	f.Eventually(said).Should(deletion)
	f.Consistently(func() error {
		return f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)
	}, "1s").Should(Succeed(), "the DPUs have their time after that")
	f.gone(group)
}

// leaves calls do with a group that is deleted, before the controller sees it.
func (f *fixture) leaves(do func(*resourcev1.ResourceGroup)) {
	f.faults.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		err := c.Get(ctx, key, object, options...)
		if group, is := object.(*resourcev1.ResourceGroup); err == nil && is && !group.DeletionTimestamp.IsZero() {
			do(group)
		}
		return err
	}
}

// The API server's clock isn't the manager's, and a manager that is busy comes late.
func TestGroup_tellsItsDPUsWhateverTheTimeOfItsDeletion(t *testing.T) {
	t.Parallel()
	for name, shift := range map[string]time.Duration{"long ago": -time.Hour, "in the future": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			f.leaves(func(g *resourcev1.ResourceGroup) { g.DeletionTimestamp.Time = g.DeletionTimestamp.Add(shift) })
			f.run()
			group, _, said, deletion := f.watched()
			f.hearsNothing(group, "dpu2")
			f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
			f.gone(group)
			f.Eventually(said).Should(deletion)
		})
	}
}

// A connection that is lost is made again at once.
func TestGroup_tellsItsDPUsThoughTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	f := start(t)
	var once sync.Once
	f.leaves(func(g *resourcev1.ResourceGroup) {
		once.Do(func() {
			_, err := unixctl.Call(t.Context(), fmt.Sprintf("%s/ovn-%s/nb.ctl", f.dir, g.UID), "ovsdb-server/reconnect")
			f.Expect(err).NotTo(HaveOccurred())
		})
	})
	f.run()
	group, _, said, deletion := f.watched()
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.gone(group)
	f.Eventually(said).Should(deletion)
}

// northd stops the ovn-northd of a group, and returns what lets it go on.
func (f *fixture) northd(group *resourcev1.ResourceGroup) (goesOn func()) {
	f.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("%s/ovn-%s/northd.pid", f.dir, group.UID))
	f.Expect(err).NotTo(HaveOccurred())
	northd, err := strconv.Atoi(strings.TrimSpace(string(text)))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(syscall.Kill(northd, syscall.SIGSTOP)).To(Succeed())
	goesOn = func() { _ = syscall.Kill(northd, syscall.SIGCONT) }
	f.t.Cleanup(goesOn)
	return goesOn
}

// A connection has its time to come back whenever it is lost.
func TestGroup_tellsItsDPUsThoughTheConnectionIsLostLate(t *testing.T) {
	t.Parallel()
	f := start(t)
	lost := make(chan struct{})
	var late atomic.Bool
	f.leaves(func(g *resourcev1.ResourceGroup) {
		if late.CompareAndSwap(true, false) {
			_, err := unixctl.Call(t.Context(), fmt.Sprintf("%s/ovn-%s/nb.ctl", f.dir, g.UID), "ovsdb-server/reconnect")
			f.Expect(err).NotTo(HaveOccurred())
			close(lost)
		}
	})
	f.run()
	group, _, said, deletion := f.watched()
	goesOn := f.northd(group)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.becomes(group, resourcev1.CentralReadyCondition, metav1.ConditionFalse, "CentralEnding")
	time.Sleep(4 * time.Second) // more than a lost connection has
	late.Store(true)
	f.Eventually(lost).Should(BeClosed())
	f.Consistently(func() error {
		return f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)
	}, "1s").Should(Succeed())
	goesOn()
	f.Eventually(said).Should(deletion)
	f.gone(group)
}

// A group that is deleted while no manager runs has a central, too.
func TestGroup_tellsItsDPUsAfterARestart(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent, said, deletion := f.watched()
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.stop()
	agent.Refuse(errDead)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.run()
	f.gone(group)
	f.Eventually(said).Should(deletion)
	f.Expect(fmt.Sprintf("%s/ovn-%s", f.dir, group.UID)).NotTo(BeADirectory())
}

// hearsNothing makes a DPU one whose ovn-controller never says that it has a change.
func (f *fixture) hearsNothing(group *resourcev1.ResourceGroup, chassis string) {
	f.t.Helper()
	f.ovn(f, "ovn-sbctl", group, "create", "Chassis_Private", "name="+chassis)
}

// watched is a group with a host, the host's agent, what the group's DPUs hear of ports, and that the host's port is deleted.
func (f *fixture) watched() (_ *resourcev1.ResourceGroup, _ *agentstest.Agent, said *gbytes.Buffer, deletion types.GomegaMatcher) {
	f.t.Helper()
	group, agent := f.group("blue"), f.agent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	said = f.monitorPorts(group)
	port := host.Status.LogicalPortReference.LogicalPort
	f.Eventually(said).Should(gbytes.Say(`initial.* "?` + port))
	return group, agent, said, gbytes.Say(`delete.* "?` + port)
}

// monitorPorts of a group's southbound database, as its DPUs do.
func (f *fixture) monitorPorts(group *resourcev1.ResourceGroup) *gbytes.Buffer {
	f.t.Helper()
	said := gbytes.NewBuffer()
	monitor := exec.CommandContext(f.t.Context(), "ovsdb-client", "--timeout=300", "monitor",
		fmt.Sprintf("unix:%s/ovn-%s/sb.sock", f.dir, group.UID), "OVN_Southbound", "Port_Binding", "logical_port")
	monitor.Stdout = said
	f.Expect(monitor.Start()).To(Succeed())
	f.t.Cleanup(func() { _ = monitor.Wait() })
	return said
}

func TestHost_isOutOfTheNetworkAtOnce(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent := f.group("blue"), f.agent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	agent.Refuse(errDead)
	f.Expect(f.client.Delete(t.Context(), host)).To(Succeed())
	f.Eventually(func(g Gomega) {
		g.Expect(f.ovn(g, "ovn-sbctl", group, "--bare", "--columns=logical_port", "find", "Port_Binding", "type=\"\"")).To(BeEmpty())
	}).WithTimeout(patience).Should(Succeed())
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating")
	agent.Refuse(nil)
	f.gone(host)
}
