package controller_test

import (
	"fmt"
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	said := gbytes.NewBuffer()
	monitor := exec.CommandContext(t.Context(), "ovsdb-client", "--timeout=60", "monitor",
		fmt.Sprintf("unix:%s/ovn-%s/sb.sock", f.dir, group.UID), "OVN_Southbound", "Port_Binding", "logical_port")
	monitor.Stdout = said
	f.Expect(monitor.Start()).To(Succeed())
	t.Cleanup(func() { _ = monitor.Wait() })
	port := host.Status.LogicalPortReference.LogicalPort
	f.Eventually(said).Should(gbytes.Say(`initial.* "?` + port))
	agent.Refuse(errDead)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.gone(group)
	f.Eventually(said).Should(gbytes.Say(`delete.* "?` + port))
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
