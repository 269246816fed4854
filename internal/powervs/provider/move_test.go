package provider_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/managertest"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// ignited is a machine of a cluster whose machines boot with Ignition from an image of its own.
func ignited(f *powervstest.Fixture, name string, own func(*clusterv1.Machine)) *infrav1.IBMPowerVSMachine {
	f.CreateBootstrapData(name, "ignition", []byte(`{"ignition": {"version": "2.3.0"}}`))
	object := f.NewMachine(func(m *clusterv1.Machine) {
		own(m)
		m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: ptr.To(name + "-bootstrap")}
	}, "demo", name, nil, func(m *infrav1.IBMPowerVSMachine) {
		m.Spec.Image, m.Spec.ImageRef = nil, &infrav1.LocalObjectReference{Name: powervstest.ImageName}
	})
	f.Create(object)
	return object
}

// unjoined takes the nodes from all Machines, whose status doesn't move either.
func unjoined(t *testing.T, f *powervstest.Fixture) {
	t.Helper()
	machines := &clusterv1.MachineList{}
	f.Expect(f.Client.List(t.Context(), machines, client.InNamespace(f.Namespace))).To(Succeed())
	for i := range machines.Items {
		machines.Items[i].Status = clusterv1.MachineStatus{}
		f.Expect(f.Client.Status().Update(t.Context(), &machines.Items[i])).To(Succeed())
	}
}

// statuses of objects without their conditions, and the specs of machines.
func statuses(cluster *infrav1.IBMPowerVSCluster, image *infrav1.IBMPowerVSImage, machines ...*infrav1.IBMPowerVSMachine) []any {
	c, i := cluster.DeepCopy().Status, image.DeepCopy().Status
	c.Conditions, i.Conditions = nil, nil
	i.JobID = "" // of an import that has ended
	all := []any{c, i}
	for _, m := range machines {
		s := m.DeepCopy().Status
		s.Conditions = nil
		all = append(all, s, m.Spec)
	}
	return all
}

// After `clusterctl move` objects have their spec and annotations, other UIDs, and no status; whichever is reconciled first, that is enough.
func TestMove_makesNothingAndFindsEverything(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	cluster := f.CreateCluster("demo", func(c *infrav1.IBMPowerVSCluster) { ignition(c, "boot", "demo-boot") })
	image := f.CreateImage("demo", powervstest.ImageName)
	joined := ignited(f, "joined", powervstest.ControlPlane)
	booting := ignited(f, "booting", func(*clusterv1.Machine) {})
	f.UntilReady(cluster)
	f.UntilReady(image)
	f.UntilProvisioned(joined)
	f.UntilProvisioned(booting)
	f.Join(joined)
	f.Eventually(func() []string { return f.Made(sim.KindObject) }).Should(ConsistOf("node/booting"))
	before, items, writes := statuses(cluster, image, joined, booting), f.Items(), simulatortest.Writes(f.Cloud.Calls())

	managertest.Move(t, f.Client, func() { unjoined(t, f) }, joined, booting, image, cluster)
	f.UntilReady(cluster)
	f.UntilReady(image)
	f.UntilProvisioned(joined)
	f.UntilProvisioned(booting)
	f.Expect(statuses(cluster, image, joined, booting)).To(Equal(before))
	f.Expect(simulatortest.Writes(f.Cloud.Calls())).To(Equal(writes), "nothing is made, changed or deleted")
	f.Expect(f.Items()).To(Equal(items))
	f.Join(joined)
	f.Join(booting)
	f.Eventually(func() []string { return f.Made(sim.KindObject) }).Should(BeEmpty())

	f.Delete(joined)
	f.Delete(booting)
	f.Delete(cluster)
	f.UntilGone(cluster)
	f.UntilGone(image)
	f.Expect(f.Cloud.State().Empty()).To(BeTrue())
}

// Moved while the outcome of a create is unknown. Only its name and its ledger say whose it is.
func TestMove_inTheMiddleOfACreate(t *testing.T) {
	t.Parallel()
	for create, list := range map[string]string{
		"power.createDHCPServer": "power.listDHCPServers", "vpc.createLoadBalancer": "vpc.listLoadBalancers",
		"transit.createTransitGateway": "transit.listTransitGateways", "power.createServer": "power.listServers",
		"vpc.createLoadBalancerPoolMember": "vpc.listLoadBalancerPoolMembers", "power.importImage": "power.listImages",
	} {
		t.Run(create, func(t *testing.T) {
			t.Parallel()
			f := powervstest.StartCloud(t)
			f.RunProvider(powervstest.Poll, 8*time.Second) // it isn't settled before this test refuses the list, however busy the computer
			f.Fault(simulator.Fault{Operation: create, Kind: simulator.FaultCommitLate, Hold: simulated(6000), Delay: simulated(60)})
			cluster, image := f.CreateCluster("demo"), f.CreateImage("demo", powervstest.ImageName)
			machine := f.NewMachine(powervstest.ControlPlane, "demo", "demo-0", []byte("data"))
			f.Create(machine)
			f.Eventually(func() int { return f.Called(create) }).WithPolling(time.Millisecond).Should(Equal(1))
			f.Refuse(http.StatusServiceUnavailable, list)
			moved := []graph.Owner{machine, image, cluster}
			managertest.Move(t, f.Client, func() {
				f.Expect(pending(f, moved)).NotTo(BeZero(), "it isn't known yet")
				f.Cloud.ClearFaults()
			}, moved...)
			f.UntilReady(cluster)
			f.UntilReady(image)
			f.UntilProvisioned(machine)
			f.Expect(f.Called(create)).To(Equal(1))
			f.Delete(machine)
			f.Delete(cluster)
			f.UntilGone(cluster)
			f.Eventually(func() bool { return f.Cloud.State().Empty() }).Should(BeTrue())
		})
	}
}

// pending is how many creates of the owners have an unknown outcome.
func pending(f *powervstest.Fixture, owners []graph.Owner) (count int) {
	for _, o := range owners {
		if l := f.Ledger(o); l != nil {
			for _, e := range l.Spec.Entries {
				if e.State == ledgerv1.Pending {
					count++
				}
			}
		}
	}
	return count
}
