package machine_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// imported has a machine boot from an image that is imported for it.
func imported(m *infrav1.IBMPowerVSMachine) {
	m.Spec.Image, m.Spec.ImageRef = nil, &infrav1.LocalObjectReference{Name: "rhcos"}
}

func members(f *powervstest.Fixture) []string {
	return slices.Sorted(slices.Values(f.Made(sim.KindMember)))
}

func TestMachine_isAMemberOfThePoolsThatLeadToIt(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{AdditionalListeners: []infrav1.AdditionalListenerSpec{
			{Port: 22623}, {Port: 443, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"ingress": "yes"}}},
		}}}
	})
	f.CreateImage("demo", "rhcos")
	control := f.NewMachine(powervstest.ControlPlane, "demo", "control-1", userData, imported)
	worker := f.NewMachine(func(*clusterv1.Machine) {}, "demo", "worker-1", userData, imported)
	f.Create(control)
	f.Create(worker)
	f.UntilProvisioned(control)
	f.UntilProvisioned(worker)
	ofControl := address(control)
	f.Expect(members(f)).To(ConsistOf(ofControl+":22623", ofControl+":6443"))

	powervstest.Change(f, worker, func(m *infrav1.IBMPowerVSMachine) { m.Labels["ingress"] = "yes" })
	ofWorker := address(worker)
	f.Eventually(func() []string { return members(f) }).Should(ConsistOf(ofControl+":22623", ofControl+":6443", ofWorker+":443"))
	f.UntilReady(worker)
	powervstest.Change(f, worker, func(m *infrav1.IBMPowerVSMachine) { delete(m.Labels, "ingress") })
	f.Eventually(func() []string { return members(f) }).Should(ConsistOf(ofControl+":22623", ofControl+":6443"))

	second := f.NewMachine(powervstest.ControlPlane, "demo", "control-2", userData, imported)
	f.Create(second)
	f.UntilProvisioned(second)
	f.Delete(control)
	f.UntilGone(control)
	f.Expect(members(f)).To(ConsistOf(address(second)+":22623", address(second)+":6443"))

	// A load balancer that is gone is no obstacle.
	f.Expect(f.Cloud.Vanish(f.Cloud.State()[sim.KindLoadBalancer][0].ID)).To(Succeed())
	f.Delete(second)
	f.UntilGone(second)
	f.Expect(f.Made(sim.KindServer)).To(ConsistOf("worker-1"))
}
