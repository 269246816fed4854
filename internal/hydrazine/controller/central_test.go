package controller_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// A central on Kubernetes takes time to start and to end. Only its group waits for it.
func TestCentral_comesAndGoesInItsOwnTime(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	f.onItsWay.Store(true)
	group := f.group("blue")
	f.Expect(f.becomes(group, resourcev1.CentralReadyCondition, metav1.ConditionFalse, "CentralStarting")).
		To(Equal("the OVN central doesn't run yet: in progress"))
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionFalse, "CentralStarting")
	f.onItsWay.Store(false)
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.onItsWay.Store(true)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.Eventually(func() string {
		return f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionFalse, "CentralEnding")
	}).WithTimeout(patience).Should(Equal("the OVN central isn't deleted: in progress"))
	f.Consistently(func() error {
		return f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)
	}, "3s").Should(Succeed())
	f.onItsWay.Store(false)
	f.gone(group)
}

// A Pod that takes another one's place is another central, at another address.
func TestCentral_thatTakesAnothersPlaceIsFilledAndOpened(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group := f.group("blue")
	f.agent(2)
	host := f.host("blue", 2)
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	before := group.Status.SoftwareNetworkConfiguration.Southbound
	f.replaced.Store(true)
	f.Eventually(func(g Gomega) {
		said, err := exec.Command("ovn-sbctl", fmt.Sprintf("--db=unix:%s/ovn-%s-2/sb.sock", f.dir, group.UID), "--timeout=5",
			"--bare", "--columns=logical_port", "find", "Port_Binding", "type=\"\"").CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(said))
		ports := strings.Fields(string(said))
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)).To(Succeed())
		g.Expect(group.Status.SoftwareNetworkConfiguration.Southbound).NotTo(Equal(before))
		if f.open(group) {
			g.Expect(ports).To(ContainElement(host.Status.LogicalPortReference.LogicalPort), "open means complete")
		}
		g.Expect(f.open(group)).To(BeTrue())
	}).WithTimeout(patience).Should(Succeed())
	f.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
}

func TestCentral_thatCantBeOpenedSaysSo(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.closed.Store(true)
	f.run()
	group := f.group("blue")
	f.Expect(f.becomes(group, resourcev1.CentralReadyCondition, metav1.ConditionFalse, "CentralFailed")).
		To(HavePrefix("the OVN central can't be opened to the DPUs: "))
	f.closed.Store(false)
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
}
