package machine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// A load balancer that has failed takes no changes, and can only be deleted. It is deleted after the machines: they can't wait for it.
func TestMachine_goesWithItsClusterThoughTheLoadBalancerHasFailed(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	c := f.CreateCluster("demo")
	f.CreateImage("demo", "rhcos")
	first := f.NewMachine(powervstest.ControlPlane, "demo", "control-1", userData, imported)
	second := f.NewMachine(powervstest.ControlPlane, "demo", "control-2", userData, imported)
	f.Create(first)
	f.Create(second)
	f.UntilProvisioned(first)
	f.UntilProvisioned(second)
	f.Expect(f.Cloud.SetStatus(sim.Status{ID: f.Cloud.State()[sim.KindLoadBalancer][0].ID, Status: "failed"})).To(Succeed())

	f.Delete(first)
	f.UntilReason(first, infrav1.LoadBalancerReadyCondition, "Busy", "FAILED") // the cluster stays, and so may the balancer
	owner := &clusterv1.Cluster{}
	f.Expect(f.Client.Get(t.Context(), client.ObjectKeyFromObject(c), owner)).To(Succeed())
	owner.Finalizers = append(owner.Finalizers, clusterv1.ClusterFinalizer)
	f.Expect(f.Client.Update(t.Context(), owner)).To(Succeed())
	f.Delete(owner)
	f.Delete(second)
	f.UntilGone(first)
	f.UntilGone(second)
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.Cloud.State().Empty()).To(BeTrue(), "%+v", f.Cloud.State())
}
