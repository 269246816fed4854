package machine_test

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const otherTypeID = "17fe0000-0000-4000-8000-000000000002"

// fabric is a site with native networking and a second type of machine.
func fabric(w *sim.Config) {
	w.Sites[0].NativeNetworking = true
	second := w.InstanceTypes[0]
	second.ID, second.Name = otherTypeID, "cpu.small"
	w.InstanceTypes = append(w.InstanceTypes, second)
}

// twoSubnets gives a cluster a subnet for each role.
func twoSubnets(c *infrav1.NvidiaBMMCluster) {
	c.Spec.Subnets = []infrav1.SubnetSpec{
		{Name: "masters", PrefixLength: ptr.To[int32](28), Role: infrav1.ControlPlaneRole},
		{Name: "workers", PrefixLength: ptr.To[int32](24), Role: infrav1.WorkerRole},
	}
}

// twoPrefixes does so in an FNN VPC.
func twoPrefixes(c *infrav1.NvidiaBMMCluster) {
	c.Spec.VPC.NetworkVirtualizationType = infrav1.FabricNativeNetworking
	c.Spec.Subnets = nil
	c.Spec.VPCPrefixes = []infrav1.VPCPrefixSpec{
		{Name: "masters", PrefixLength: ptr.To[int32](28), Role: infrav1.ControlPlaneRole},
		{Name: "workers", PrefixLength: ptr.To[int32](24), Role: infrav1.WorkerRole},
	}
}

// idOf is the ID of a subnet or VPC prefix of the cluster.
func idOf(c *infrav1.NvidiaBMMCluster, name string) string {
	for _, s := range c.Status.Subnets {
		if s.Name == name {
			return s.ID
		}
	}
	for _, p := range c.Status.VPCPrefixes {
		if p.Name == name {
			return p.ID
		}
	}
	return "no network " + name
}

func noNetwork(m *infrav1.NvidiaBMMMachine) { m.Spec.Network = infrav1.NetworkSpec{} }

func controlPlane(m *clusterv1.Machine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" }

func worker(*clusterv1.Machine) {}

func inDomain(name string) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) { m.Spec.FailureDomain = name }
}

func TestNetwork_isThatOfTheMachinesRoleOrFailureDomain(t *testing.T) {
	t.Parallel()
	domains := func(c *infrav1.NvidiaBMMCluster) {
		twoSubnets(c)
		c.Spec.Subnets = append(c.Spec.Subnets, infrav1.SubnetSpec{Name: "rack-2", PrefixLength: ptr.To[int32](26)})
		c.Spec.FailureDomains = []infrav1.FailureDomainSpec{
			{Name: "one", ControlPlane: ptr.To(true), SubnetName: "masters"},
			{Name: "two", SubnetName: "rack-2", InstanceTypeID: otherTypeID},
		}
	}
	for _, row := range []struct {
		name          string
		cluster       func(*infrav1.NvidiaBMMCluster)
		own           func(*clusterv1.Machine)
		machine       func(*infrav1.NvidiaBMMMachine)
		network, kind string
	}{
		{"a control plane", twoSubnets, controlPlane, noNetwork, "masters", sim.DefaultInstanceTypeID},
		{"a worker", twoSubnets, worker, noNetwork, "workers", sim.DefaultInstanceTypeID},
		{"a control plane in the fabric", twoPrefixes, controlPlane, noNetwork, "masters", sim.DefaultInstanceTypeID},
		{"a worker in the fabric", twoPrefixes, worker, noNetwork, "workers", sim.DefaultInstanceTypeID},
		{"the only one", func(*infrav1.NvidiaBMMCluster) {}, worker, noNetwork, "nodes", sim.DefaultInstanceTypeID},
		{"what the machine names", twoSubnets, worker, func(m *infrav1.NvidiaBMMMachine) {
			m.Spec.Network.SubnetName = "masters"
		}, "masters", sim.DefaultInstanceTypeID},
		{"a failure domain", domains, inDomain("two"), noNetwork, "rack-2", otherTypeID},
		{"a failure domain, whatever the machine names", domains, inDomain("two"), func(m *infrav1.NvidiaBMMMachine) {
			m.Spec.Network.SubnetName = "workers"
		}, "rack-2", otherTypeID},
		{"a failure domain without a type", domains, inDomain("one"), noNetwork, "masters", sim.DefaultInstanceTypeID},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, fabric)
			cluster := f.CreateCluster("demo", row.cluster)
			f.UntilReady(cluster)
			object := f.CreateMachineOf(row.own, "demo", "node-1", userData, row.machine)
			f.UntilReady(object)
			instance := f.Sim.State().Instances[0]
			f.Expect(instance.Interfaces).To(HaveLen(1))
			f.Expect(instance.Interfaces[0].SubnetID + instance.Interfaces[0].VPCPrefixID).To(Equal(idOf(cluster, row.network)))
			f.Expect(instance.InstanceTypeID).To(Equal(row.kind))
			owner := &clusterv1.Machine{}
			owner.Name, owner.Namespace = object.Name, object.Namespace
			f.Expect(f.Read(owner)).To(Succeed())
			f.Expect(object.Status.FailureDomain).To(Equal(owner.Spec.FailureDomain))
		})
	}
}

func TestNetwork_thatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, fabric)
	f.UntilReady(f.CreateCluster("demo", twoPrefixes))
	object := f.CreateMachine("demo", "node-1", userData, noNetwork, func(m *infrav1.NvidiaBMMMachine) { m.Spec.Network.VPCPrefixName = "storage" })
	f.UntilReason(object, infrav1.ClusterReadyCondition, "NoSuchNetwork", `NvidiaBMMCluster demo has no VPC prefix "storage": add it there`)
	object = f.CreateMachineOf(inDomain("three"), "demo", "node-2", userData)
	f.UntilReason(object, infrav1.ClusterReadyCondition, "NoSuchFailureDomain",
		`NvidiaBMMCluster demo has no failure domain "three": add it there, or replace Machine node-2 by one in another`)
	cluster := f.CreateCluster("plain", func(c *infrav1.NvidiaBMMCluster) {
		twoSubnets(c)
		c.Spec.Subnets[0].Role, c.Spec.Subnets[1].Role = "", ""
	})
	f.UntilReady(cluster)
	object = f.CreateMachine("plain", "node-3", userData, noNetwork)
	f.UntilReason(object, infrav1.ClusterReadyCondition, "NoSuchNetwork", "NvidiaBMMCluster plain has 2 networks for a machine that names none")
	f.Expect(f.Called("createInstance")).To(BeZero())

	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) { c.Spec.Subnets[0].Role = infrav1.WorkerRole })
	f.UntilReady(object)
}

func TestInterfaces_areThoseOfTheSpec(t *testing.T) {
	t.Parallel()
	type interfaces = []infrav1.NetworkInterface
	for _, row := range []struct {
		name    string
		cluster func(*infrav1.NvidiaBMMCluster)
		spec    func(workers netip.Addr) interfaces
		want    []bmm.Interface // with names for the networks' IDs
	}{
		{
			"in two subnets", twoSubnets,
			func(netip.Addr) interfaces {
				return interfaces{{SubnetName: "workers"}, {SubnetName: "masters", IsPhysical: ptr.To(true)}}
			},
			[]bmm.Interface{{SubnetID: "workers"}, {SubnetID: "masters", IsPhysical: true}},
		},
		{
			"virtual functions in two prefixes", twoPrefixes,
			func(workers netip.Addr) interfaces {
				return interfaces{
					{VPCPrefixName: "workers", IsPhysical: ptr.To(true), IPAddress: workers.String()},
					{VPCPrefixName: "masters", VirtualFunctionID: ptr.To[int32](16)},
				}
			},
			[]bmm.Interface{{VPCPrefixID: "workers", IsPhysical: true, RequestedIPAddress: "asked for"}, {VPCPrefixID: "masters", VirtualFunctionID: 16}},
		},
		{
			"on both DPUs", twoPrefixes,
			func(netip.Addr) interfaces {
				return interfaces{
					{VPCPrefixName: "workers", Device: sim.DefaultDPU, DeviceInstance: ptr.To[int32](0), IsPhysical: ptr.To(true)},
					{VPCPrefixName: "masters", Device: sim.DefaultDPU, DeviceInstance: ptr.To[int32](1), VirtualFunctionID: ptr.To[int32](2)},
				}
			},
			[]bmm.Interface{
				{VPCPrefixID: "workers", Device: sim.DefaultDPU, DeviceInstance: ptr.To(0), IsPhysical: true},
				{VPCPrefixID: "masters", Device: sim.DefaultDPU, DeviceInstance: ptr.To(1), VirtualFunctionID: 2},
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, fabric)
			cluster := f.CreateCluster("demo", row.cluster)
			f.UntilReady(cluster)
			var address netip.Addr
			for _, p := range cluster.Status.VPCPrefixes {
				if p.Name == "workers" {
					address = netip.MustParsePrefix(p.CIDR).Addr().Next().Next().Next().Next().Next()
				}
			}
			wanted := row.spec(address)
			object := f.CreateMachine("demo", "node-1", userData, func(m *infrav1.NvidiaBMMMachine) {
				m.Spec.Network = infrav1.NetworkSpec{NetworkInterface: wanted[0], AdditionalInterfaces: wanted[1:]}
			})
			f.UntilReady(object)
			f.UntilTrue(object, infrav1.NetworkConfiguredCondition)
			var addresses []clusterv1.MachineAddress
			for i, got := range f.Sim.State().Instances[0].Interfaces {
				want := row.want[i]
				if want.SubnetID != "" {
					want.SubnetID = idOf(cluster, want.SubnetID)
				} else {
					want.VPCPrefixID = idOf(cluster, want.VPCPrefixID)
				}
				if want.RequestedIPAddress != "" {
					want.RequestedIPAddress = address.String()
					f.Expect(got.IPAddresses).To(Equal([]string{address.String()}))
				}
				want.ID, want.InstanceID, want.MacAddress, want.IPAddresses, want.Status = got.ID, got.InstanceID, got.MacAddress, got.IPAddresses, got.Status
				f.Expect(got).To(Equal(want))
				addresses = append(addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: got.IPAddresses[0]})
			}
			f.Expect(addresses).To(HaveLen(2))
			f.Expect(object.Status.Addresses).To(Equal(append([]clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: "node-1"}}, addresses...)))
		})
	}
}

func TestNetwork_isConfiguredWhenEveryInterfaceHasItsAddress(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { // ten seconds
		w.Times.InstanceMin.Duration, w.Times.InstanceMax.Duration = 20_000*time.Second, 20_000*time.Second
	})
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	object := f.CreateMachine("demo", "node-1", userData)
	f.UntilReason(object, infrav1.NetworkConfiguredCondition, "Waiting", "has no address in "+idOf(cluster, "nodes")+" yet")
	f.UntilTrue(object, infrav1.NetworkConfiguredCondition)
}

// Release 1.0.6 ignores it without an error. The instance would be Ready, under an unknown address.
func TestNetwork_anAddressThatWasIgnoredIsSaid(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, fabric, func(w *sim.Config) { w.Release = sim.Release106 })
	cluster := f.CreateCluster("demo", twoPrefixes)
	f.UntilReady(cluster)
	object := f.CreateMachine("demo", "node-1", userData, func(m *infrav1.NvidiaBMMMachine) {
		m.Spec.Network = infrav1.NetworkSpec{NetworkInterface: infrav1.NetworkInterface{VPCPrefixName: "workers", IPAddress: "127.100.0.99"}}
	})
	f.UntilTrue(object, infrav1.InstanceProvisionedCondition)
	f.UntilReason(object, infrav1.NetworkConfiguredCondition, "Failed", "127.100.0.99")
	f.Expect(f.Message(object, infrav1.NetworkConfiguredCondition)).To(ContainSubstring("without ipAddress"))
	f.Expect(object.Status.Initialization.Provisioned).To(BeNil())
	f.Delete(object)
	f.UntilGone(object)
}
