package machine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const (
	infiniBand      = "1b000000-0000-4000-8000-000000000001"
	nvLink          = "aa000000-0000-4000-8000-000000000001"
	dpuService      = "d0000000-0000-4000-8000-000000000001"
	infiniBandCard  = "MT2910 Family [ConnectX-7]"
	script          = "#!ipxe\nboot\n"
	certainMachine  = "fm100ht000000000000000000000000000003"
	certainMachine2 = "fm100ht000000000000000000000000000005"
)

// gpus is a site with everything that machines can be attached to.
func gpus(w *sim.Config) {
	w.Sites[0].NVLinkPartition = true
	w.InstanceTypes[0].Capabilities = append(w.InstanceTypes[0].Capabilities,
		bmm.MachineCapability{Type: bmm.CapabilityGPU, Name: "H100", Count: 4, DeviceType: "NVLink"},
		bmm.MachineCapability{Type: bmm.CapabilityInfiniBand, Name: infiniBandCard, Count: 2},
	)
	w.InfiniBandPartitions = []sim.Partition{{ID: infiniBand, Name: "ib", SiteID: sim.DefaultSiteID}}
	w.NVLinkLogicalPartitions = []sim.Partition{{ID: nvLink, Name: "nvlink", SiteID: sim.DefaultSiteID}}
	w.DPUExtensionServices = []sim.DPUExtensionService{{ID: dpuService, Name: "storage", SiteID: sim.DefaultSiteID, Versions: []string{"1.0", "1.1"}}}
}

func TestFields_reachTheInstance(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, gpus)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData, func(m *infrav1.NvidiaBMMMachine) {
		m.Spec.Description = "the demo's"
		m.Spec.Labels = infrav1.ResourceLabels{"team": "a"}
		m.Spec.SSHKeyGroups = []string{sim.DefaultSSHKeyGroupID}
		m.Spec.InfiniBandInterfaces = []infrav1.InfiniBandInterface{
			{PartitionID: infiniBand, Device: infiniBandCard}, {PartitionID: infiniBand, Device: infiniBandCard, DeviceInstance: ptr.To[int32](1)},
		}
		m.Spec.NVLinkInterfaces = []infrav1.NVLinkInterface{{LogicalPartitionID: nvLink, DeviceInstance: ptr.To[int32](3)}}
		m.Spec.DPUExtensionServices = []infrav1.DPUExtensionService{{ServiceID: dpuService, Version: "1.0"}}
	})
	f.UntilReady(object)

	i := f.Sim.State().Instances[0]
	f.Expect(i.Description).To(Equal("the demo's"))
	f.Expect(i.Labels).To(And(HaveLen(4), HaveKeyWithValue("team", "a"), HaveKeyWithValue("bedplate-key", "instance")))
	f.Expect(i.TenantID).To(Equal(sim.DefaultTenantID))
	f.Expect(i.SSHKeyGroupIDs).To(Equal([]string{sim.DefaultSSHKeyGroupID}))
	f.Expect(i.InfiniBandInterfaces).To(HaveLen(2))
	for n, got := range i.InfiniBandInterfaces {
		f.Expect(got).To(And(HaveField("PartitionID", infiniBand), HaveField("Device", infiniBandCard), HaveField("IsPhysical", true)))
		f.Expect(got.DeviceInstance).To(HaveValue(Equal(n)))
	}
	f.Expect(i.NVLinkInterfaces).To(ConsistOf(And(HaveField("NVLinkLogicalPartitionID", nvLink), HaveField("DeviceInstance", HaveValue(Equal(3))))))
	f.Expect(i.DPUExtensionServiceDeployments).To(ConsistOf(And(HaveField("DPUExtensionService.ID", dpuService), HaveField("Version", "1.0"))))
	f.Expect(i.OperatingSystemID).To(Equal(bmmtest.OperatingSystemID))
	f.Expect(i.InstanceTypeID).To(Equal(sim.DefaultInstanceTypeID))
	f.Expect(i.PhoneHomeEnabled).To(BeFalse(), "unless a user asks for it")

	f.Expect(object.Status.SerialConsoleURL).To(Equal("ssh://" + i.ID + "@console.site-1.example.com"))
	f.Expect(f.Called("updateInstance")).To(BeZero())
}

func TestFields_ofWhatIsBooted(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", []byte("#cloud-config\n{}\n"), func(m *infrav1.NvidiaBMMMachine) {
		m.Spec.OperatingSystem = infrav1.OperatingSystemReference{IPXEScript: script, Type: "ubuntu", Version: "24.04"}
		m.Spec.AlwaysBootWithCustomIpxe = ptr.To(true)
		m.Spec.PhoneHomeEnabled = ptr.To(true)
	})
	f.UntilReady(object)
	i := f.Sim.State().Instances[0]
	f.Expect(i.IpxeScript).To(Equal(script))
	f.Expect(i.OperatingSystemID).To(BeEmpty())
	f.Expect(i.AlwaysBootWithCustomIpxe).To(BeTrue())
	f.Expect(i.PhoneHomeEnabled).To(BeTrue())
	f.Expect(i.UserData).To(ContainSubstring("phone_home"))
}

func TestFields_ofACertainMachine(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData, func(m *infrav1.NvidiaBMMMachine) {
		m.Spec.InstanceType = infrav1.InstanceTypeReference{MachineID: certainMachine}
	})
	f.UntilReady(object)
	f.Expect(object.Status.MachineID).To(Equal(certainMachine))

	f.Expect(f.Sim.SetStatus(sim.Status{ID: certainMachine2, Status: "Maintenance"})).To(Succeed())
	ill := func(allow *bool) func(*infrav1.NvidiaBMMMachine) {
		return func(m *infrav1.NvidiaBMMMachine) {
			m.Spec.InstanceType = infrav1.InstanceTypeReference{MachineID: certainMachine2, AllowUnhealthyMachine: allow}
		}
	}
	refused := f.CreateMachine("demo", "worker-2", userData, ill(nil))
	f.UntilReason(refused, infrav1.InstanceProvisionedCondition, "Quota", certainMachine2+" is in Maintenance status")
	f.UntilReady(f.CreateMachine("demo", "worker-3", userData, ill(ptr.To(true))))
}
