package machine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// run a provider until it is stopped or the test ends.
func run(f *powervstest.Fixture) (stop func()) {
	return f.RunProvider(powervstest.Poll, powervstest.Settle)
}

// peers is a worker as another provider leaves it, in a cluster for which nothing was created. No provider runs.
func peers(t *testing.T, change ...func(*infrav1.IBMPowerVSMachine)) (*powervstest.Fixture, *infrav1.IBMPowerVSMachine) {
	f := powervstest.StartCloud(t, powervstest.WithWorkspace)
	stop := run(f)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	stop()
	machine := f.NewMachine(func(*clusterv1.Machine) {}, "demo", "worker-1", userData, change...)
	f.CreatePeersMachine(machine, powervstest.Shared, powervstest.ImageID, powervstest.NetworkID)
	return f, machine
}

func servers(f *powervstest.Fixture) []string { return f.Made(sim.KindServer) }

func TestTakeOver_keepsTheVMAndDeletesItWithTheMachine(t *testing.T) {
	t.Parallel()
	f, machine := peers(t)
	was, items, creates := machine.DeepCopy(), f.Items(), f.Creates()
	stop := run(f)
	f.UntilReason(machine, infrav1.InstanceReadyCondition, "Invalid", `give this object the annotation bedplate.dev/take-over="true"`)
	powervstest.Change(f, machine, powervstest.TakeOver)
	f.UntilProvisioned(machine)
	f.Expect(machine.Annotations).NotTo(HaveKey(infrav1.TakeOverAnnotation))
	f.Expect(machine.Spec.ProviderID).To(Equal(was.Spec.ProviderID))
	f.Expect(machine.Status.InstanceID).To(Equal(was.Status.InstanceID))
	f.Expect(f.Ledger(machine).Entry("vm").Untagged).To(Equal(was.Status.InstanceID))

	// What a crash between the two writes leaves, or who asks twice, asks for.
	owner := f.Ledger(machine).Spec.OwnerID
	powervstest.Change(f, machine, powervstest.TakeOver)
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(machine)).To(Succeed())
		g.Expect(machine.Annotations).NotTo(HaveKey(infrav1.TakeOverAnnotation))
	}).Should(Succeed())
	f.Expect(f.Ledger(machine).Spec.OwnerID).To(Equal(owner))
	stop()
	run(f) // it knows nothing but the ledger
	f.UntilReady(machine)
	f.Expect(f.Items()).To(Equal(items))
	f.Expect(f.Creates()).To(Equal(creates))

	f.Delete(machine)
	f.UntilGone(machine)
	f.Expect(servers(f)).To(BeEmpty())
}

// The peer's older provider IDs name no workspace.
func TestTakeOver_findsTheWorkspaceOfAnOldProviderID(t *testing.T) {
	t.Parallel()
	f, machine := peers(t)
	powervstest.Change(f, machine, func(m *infrav1.IBMPowerVSMachine) { m.Finalizers = nil })
	f.Delete(machine)
	again := machine.DeepCopy()
	again.UID, again.ResourceVersion, again.Spec.ProviderID = "", "", "ibmpowervs://demo/worker-1"
	powervstest.TakeOver(again)
	f.Create(again)
	again.Status = machine.Status
	f.Expect(f.Client.Status().Update(t.Context(), again)).To(Succeed())
	run(f)
	f.UntilProvisioned(again)
	f.Expect(again.Spec.ProviderID).To(Equal("ibmpowervs://demo/worker-1"))
	f.Delete(again)
	f.UntilGone(again)
	f.Expect(servers(f)).To(BeEmpty())
}

// pooled is a cluster with a load balancer, an image, and a machine of the control plane as another provider leaves it, with its member of
// the pool, and the user's own one beside it. No provider runs.
func pooled(t *testing.T, change ...func(*infrav1.IBMPowerVSMachine)) (*powervstest.Fixture, *infrav1.IBMPowerVSMachine) {
	f := powervstest.StartCloud(t)
	stop := run(f)
	cluster := f.CreateCluster("demo")
	image := f.CreateImage("demo", "rhcos")
	f.UntilReady(image)
	f.UntilReady(cluster)
	stop()
	machine := f.NewMachine(powervstest.ControlPlane, "demo", "control-1", userData, append(change, imported)...)
	in := ibm.Workspace{Zone: sim.DefaultZone, ID: cluster.Status.ServiceInstance.ID}
	ip := f.CreatePeersMachine(machine, in, image.Status.ImageID, cluster.Status.Network.ID)
	api, balancer := f.API(), cluster.Status.LoadBalancers["demo-loadbalancer"].ID
	listeners, err := api.Listeners(t.Context(), powervstest.Region, balancer)
	f.Expect(err).NotTo(HaveOccurred())
	for _, address := range []string{ip, "10.9.9.9"} {
		_, err = api.CreateMember(t.Context(), powervstest.Region, balancer, listeners[0].DefaultPool.ID, address, 6443)
		f.Expect(err).NotTo(HaveOccurred())
		f.UntilAtRest()
	}
	return f, machine
}

// A move keeps the provider ID, and no status.
func TestTakeOver_ofTheMembersOfPoolsToo(t *testing.T) {
	t.Parallel()
	f, machine := pooled(t, powervstest.TakeOver)
	machine.Status = infrav1.IBMPowerVSMachineStatus{}
	f.Expect(f.Client.Status().Update(t.Context(), machine)).To(Succeed())
	items, creates := f.Items(), f.Creates()
	run(f)
	f.UntilProvisioned(machine)
	f.Expect(machine.Annotations).NotTo(HaveKey(infrav1.TakeOverAnnotation))
	f.Expect(f.Items()).To(Equal(items))
	f.Expect(f.Creates()).To(Equal(creates))
	f.Delete(machine)
	f.UntilGone(machine)
	f.Expect(servers(f)).To(BeEmpty())
	f.Expect(members(f)).To(ConsistOf("10.9.9.9:6443"))
}

// All is taken over and deleted at once.
func TestTakeOver_ofWhatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	f, machine := pooled(t, powervstest.TakeOver)
	f.Delete(machine)
	run(f)
	f.UntilGone(machine)
	f.Expect(servers(f)).To(BeEmpty())
	f.Expect(members(f)).To(ConsistOf("10.9.9.9:6443"))
}

// The peer never gets rid of a machine whose VM is gone.
func TestTakeOver_ofWhatIsGoneAlready(t *testing.T) {
	t.Parallel()
	f, machine := peers(t, powervstest.TakeOver)
	f.Expect(f.Cloud.Vanish(machine.Status.InstanceID)).To(Succeed())
	run(f)
	f.UntilReason(machine, infrav1.InstanceReadyCondition, "Invalid", "virtual machine "+machine.Status.InstanceID+
		", which spec or status show, doesn't exist: delete the Machine to get another one")
	f.Expect(f.Ledger(machine)).To(BeNil())
	f.Delete(machine)
	f.UntilGone(machine)
}

func TestTakeOver_notOfWhatIsAnothersAlready(t *testing.T) {
	t.Parallel()
	f, first := peers(t, powervstest.TakeOver)
	second := f.NewMachine(func(*clusterv1.Machine) {}, "demo", "worker-2", userData, powervstest.TakeOver)
	run(f)
	f.UntilProvisioned(first)
	second.Spec.ProviderID = first.Spec.ProviderID
	f.Create(second)
	f.UntilReason(second, infrav1.InstanceReadyCondition, "Invalid", "is in ledger "+f.Namespace+"/ibmpowervsmachine-worker-1, so it isn't this object's")
	f.Expect(f.Ledger(second)).To(BeNil())
	f.Expect(servers(f)).To(ConsistOf("worker-1"))
}

func TestTakeOver_ofWhatBedplateMadeItselfChangesNothing(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	machine := f.CreateMachine("demo", "worker-1", userData, powervstest.TakeOver)
	f.UntilProvisioned(machine)
	powervstest.Change(f, machine, powervstest.TakeOver)
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(machine)).To(Succeed())
		g.Expect(machine.Annotations).NotTo(HaveKey(infrav1.TakeOverAnnotation))
	}).Should(Succeed())
	entry := f.Ledger(machine).Entry("vm")
	f.Expect(entry.Untagged).To(BeEmpty())
	f.Expect(entry.Token).NotTo(BeEmpty())
	f.Expect(machine.Status.Initialization.Provisioned).To(Equal(ptr.To(true)))
	f.Expect(f.Called("power.createServer")).To(Equal(1))
	f.Delete(machine)
	f.UntilGone(machine)
	f.Expect(servers(f)).To(BeEmpty())
}
