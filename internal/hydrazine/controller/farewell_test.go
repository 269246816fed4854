package controller_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// If an agent is dead for good, only ovn-controller can remove the host's flows.
func TestGroup_tellsItsDPUsBeforeItGoes(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent := f.group("blue"), f.agent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	said, port := f.monitorPorts(group), host.Status.LogicalPortReference.LogicalPort
	f.Eventually(said).Should(gbytes.Say(`initial.* "?` + port))
	agent.Refuse(errDead)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.gone(group)
	f.Eventually(said).Should(gbytes.Say(`delete.* "?` + port))
}

// On a busy computer ovn-northd takes seconds.
func TestGroup_waitsForNorthdBeforeItGoes(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent := f.group("blue"), f.agent(2)
	host := f.host("blue", 2)
	f.bind(group, host, agent, 2)
	f.becomes(host, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	said, port := f.monitorPorts(group), host.Status.LogicalPortReference.LogicalPort
	f.Eventually(said).Should(gbytes.Say(`initial.* "?` + port))
	text, err := os.ReadFile(fmt.Sprintf("%s/ovn-%s/northd.pid", f.dir, group.UID))
	f.Expect(err).NotTo(HaveOccurred())
	northd, err := strconv.Atoi(strings.TrimSpace(string(text)))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(syscall.Kill(northd, syscall.SIGSTOP)).To(Succeed())
	t.Cleanup(func() { _ = syscall.Kill(northd, syscall.SIGCONT) })
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.Expect(f.becomes(group, resourcev1.CentralReadyCondition, metav1.ConditionFalse, "CentralEnding")).
		To(Equal("the OVN central isn't deleted: OVN still removes the network from the DPUs"))
	f.Consistently(func() error {
		return f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)
	}, "5s").Should(Succeed())
	f.Expect(syscall.Kill(northd, syscall.SIGCONT)).To(Succeed())
	f.gone(group)
	f.Eventually(said).Should(gbytes.Say(`delete.* "?` + port))
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
