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

// withNetworks is a world whose workspace has more networks.
func withNetworks(c *sim.Config) {
	powervstest.WithWorkspace(c)
	shared := &c.Instances[len(c.Instances)-1]
	for i, name := range []string{"nodes-2", "storage"} {
		shared.Networks = append(shared.Networks, sim.Network{
			ID: "b0000000-0000-4000-8000-00000000010" + string(rune('0'+i)), Name: name, CIDR: "192.168.21" + string(rune('0'+i)) + ".0/24",
		})
	}
}

func named(reference infrav1.IBMPowerVSResourceReference) *infrav1.IBMPowerVSResourceReference {
	return &reference
}

func TestMachine_saysWhatIsWrongWithItsSpec(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, withNetworks)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	in := ibm.Workspace{Zone: sim.DefaultZone, ID: powervstest.WorkspaceID}
	_, err := f.API().CreateServer(t.Context(), in, ibm.ServerRequest{
		Name: "taken", ImageID: powervstest.ImageID, NetworkID: powervstest.NetworkID, SystemType: "s1022", ProcessorType: "shared",
		Processors: 0.25, MemoryGiB: 2,
	})
	f.Expect(err).NotTo(HaveOccurred())
	type spec = infrav1.IBMPowerVSMachineSpec
	for name, row := range map[string]struct {
		change                     func(*spec)
		condition, reason, message string
	}{
		"system": {func(s *spec) { s.SystemType = "s1122" }, "ZoneReady", "NotOffered", "doesn't offer systemType s1122, but e1050, e1080, e980"},
		"two": {func(s *spec) { s.Network = named(infrav1.IBMPowerVSResourceReference{RegEx: "^nodes"}) }, "NetworkReady", "Invalid",
			`"^nodes" stands for several: network b0000000`},
		"none": {func(s *spec) { s.Network = named(infrav1.IBMPowerVSResourceReference{RegEx: "^public"}) }, "NetworkReady", "Invalid",
			`there is no network "^public"`},
		"no-regex": {func(s *spec) { s.Network = named(infrav1.IBMPowerVSResourceReference{RegEx: "("}) }, "NetworkReady", "Failed",
			"isn't a regular expression"},
		"network": {func(s *spec) { s.Network = named(infrav1.IBMPowerVSResourceReference{ID: "unknown"}) }, "NetworkReady", "Invalid",
			"there is no network unknown"},
		"image": {func(s *spec) { s.Image.Name = "unknown" }, "ImageReady", "Invalid", `there is no image "unknown"`},
		"image-id": {func(s *spec) { s.Image = named(infrav1.IBMPowerVSResourceReference{ID: "unknown"}) }, "ImageReady", "Invalid",
			"there is no image unknown"},
		"image-ref": {func(s *spec) { s.Image, s.ImageRef = nil, &infrav1.LocalObjectReference{Name: "unknown"} }, "ImageReady", "Waiting",
			"there is no IBMPowerVSImage unknown"},
		"workspace": {func(s *spec) { s.ServiceInstance = named(infrav1.IBMPowerVSResourceReference{Name: "unknown"}) }, "ClusterReady",
			"Invalid", `there is no workspace "unknown"`},
		"ssh":   {func(s *spec) { s.SSHKey = "unknown" }, "InstanceReady", "", "ssh key unknown does not exist"},
		"taken": {func(*spec) {}, "InstanceReady", "Conflict", "taken"},
	} {
		machine := f.CreateMachine("demo", name, userData, func(m *infrav1.IBMPowerVSMachine) { row.change(&m.Spec) })
		if row.reason == "" {
			f.Eventually(func(g Gomega) {
				g.Expect(f.Read(machine)).To(Succeed())
				g.Expect(machine.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring(row.message))), name)
			}).Should(Succeed())
			continue
		}
		f.UntilReason(machine, row.condition, row.reason, row.message)
	}
	f.Expect(f.Made(sim.KindServer)).To(ConsistOf("taken"))
}

func TestMachine_isPutWhereItsSpecSays(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, withNetworks)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	machine := f.CreateMachine("demo", "worker-1", userData, func(m *infrav1.IBMPowerVSMachine) {
		m.Spec.ServiceInstance = named(infrav1.IBMPowerVSResourceReference{Name: "shared"})
		m.Spec.Network = named(infrav1.IBMPowerVSResourceReference{RegEx: "^stor"})
		m.Spec.SystemType, m.Spec.ProcessorType, m.Spec.MemoryGiB = "e980", infrav1.ProcessorTypeDedicated, 16
		m.Spec.SSHKey = sim.DefaultSSHKey
	})
	f.UntilProvisioned(machine)
	f.Expect(address(machine)).To(HavePrefix("192.168.211."))
	server, err := f.API().Server(t.Context(), ibm.Workspace{Zone: sim.DefaultZone, ID: powervstest.WorkspaceID}, machine.Status.InstanceID)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(server.SystemType).To(Equal("e980"))
	f.Expect(server.ProcessorType).To(Equal("dedicated"))
	f.Expect([]float64{server.Processors, server.MemoryGiB}).To(Equal([]float64{1, 16}))
	f.Expect(f.UserData(server.ID)).To(Equal(userData))
}

func TestMachine_saysWhatBecomesOfItsVirtualMachine(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	f.Expect(f.Cloud.SetOutcome(sim.Outcome{Kind: sim.KindServer, Status: "ERROR", Message: "no valid host was found"})).To(Succeed())
	failed := f.CreateMachine("demo", "failed", userData)
	f.UntilReason(failed, infrav1.InstanceReadyCondition, "Failed", "ERROR: no valid host was found: delete the Machine to get another one")
	f.Expect([]string{failed.Status.InstanceState, failed.Status.Health, failed.Status.Fault}).To(
		Equal([]string{"ERROR", "CRITICAL", "no valid host was found"}))
	f.Expect(failed.Status.Initialization.Provisioned).To(BeNil())
	f.Delete(failed)
	f.UntilGone(failed)

	machine := f.CreateMachine("demo", "worker-1", userData)
	f.UntilProvisioned(machine)
	f.Expect(f.Cloud.SetStatus(sim.Status{ID: machine.Status.InstanceID, Status: "SHUTOFF"})).To(Succeed())
	f.UntilReason(machine, infrav1.InstanceReadyCondition, "ShutOff", "start it")
	f.Expect(machine.Status.Ready).To(BeFalse())
	f.Expect(machine.Status.Initialization.Provisioned).To(Equal(ptr.To(true)), "for good")
	f.Expect(f.Cloud.SetStatus(sim.Status{ID: machine.Status.InstanceID})).To(Succeed())
	f.UntilReady(machine)
	f.Expect(f.Cloud.Vanish(machine.Status.InstanceID)).To(Succeed())
	f.UntilReason(machine, infrav1.InstanceReadyCondition, "Lost", "delete the Machine to get another one")
	f.Expect(f.Made(sim.KindServer)).To(BeEmpty(), "it isn't made again")
	f.Delete(machine)
	f.UntilGone(machine)
}

func TestMachine_isDeletedAfterItsCluster(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	cluster := f.CreateCluster("demo", powervstest.Plain)
	f.UntilReady(cluster)
	machine := f.CreateMachine("demo", "worker-1", userData)
	f.UntilProvisioned(machine)
	powervstest.Change(f, cluster, func(c *infrav1.IBMPowerVSCluster) { c.Finalizers = nil })
	owner := &clusterv1.Cluster{}
	owner.Name, owner.Namespace = "demo", f.Namespace
	f.Delete(owner)
	f.Delete(cluster)
	f.Eventually(func() error { return f.Read(owner) }).ShouldNot(Succeed())
	f.Delete(machine)
	f.UntilGone(machine)
	f.Expect(f.Made(sim.KindServer)).To(BeEmpty())
}

func TestMachine_restsWithoutACallForEach(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
		f.UntilProvisioned(f.CreateMachine("demo", name, userData))
	}
	lists := func(n int) {
		before := f.Called("power.listServers")
		f.Expect(before).To(BeNumerically(">", 0))
		f.Eventually(func() int { return f.Called("power.listServers") - before }).Should(BeNumerically(">", n), "it is listed in each interval")
	}
	lists(2) // until then a cache may be behind
	read := f.Called("power.getServer")
	lists(20)
	f.Expect(f.Called("power.getServer")).To(Equal(read))
}
