package v1beta1_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	. "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	id      = "a0000000-0000-4000-8000-000000000001"
	otherID = "a0000000-0000-4000-8000-000000000002"
	noID    = "not-a-UUID-but-as-long-as-one-all-in"
)

// refusal is a change that the API server has to answer with a message; "" means that it takes it. In the message, " … " stands
// for anything.
type refusal[T client.Object] struct {
	name    string
	change  func(T)
	message string
}

func TestTemplates_areCheckedLikeWhatTheyMake(t *testing.T) {
	t.Parallel()
	checkCreate(t, func() *NvidiaBMMMachineTemplate {
		return &NvidiaBMMMachineTemplate{Spec: NvidiaBMMMachineTemplateSpec{Template: NvidiaBMMMachineTemplateResource{Spec: validMachine().Spec}}}
	}, []refusal[*NvidiaBMMMachineTemplate]{
		{"a valid one", func(*NvidiaBMMMachineTemplate) {}, ""},
		{"a type and a machine", func(m *NvidiaBMMMachineTemplate) { m.Spec.Template.Spec.InstanceType.MachineID = "fm1" },
			"spec.template.spec.instanceType: Invalid value: exactly one of id and machineID must be set"},
	})
	checkCreate(t, func() *NvidiaBMMClusterTemplate {
		return &NvidiaBMMClusterTemplate{Spec: NvidiaBMMClusterTemplateSpec{Template: NvidiaBMMClusterTemplateResource{Spec: validCluster().Spec}}}
	}, []refusal[*NvidiaBMMClusterTemplate]{
		{"a valid one", func(*NvidiaBMMClusterTemplate) {}, ""},
		{"no subnets", func(c *NvidiaBMMClusterTemplate) { c.Spec.Template.Spec.Subnets = nil },
			"spec.template.spec.subnets: Invalid value: with vpc.networkVirtualizationType ETHERNET_VIRTUALIZER at least one subnet is needed"},
	})
}

// The names are those of the providers before this one.
func TestManifests_ofAnotherProviderNeedOnlyTheKindRenamed(t *testing.T) {
	t.Parallel()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	for _, row := range []struct{ name, manifest string }{
		{"a cluster", `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: NvidiaBMMCluster
metadata: {name: theirs}
spec:
  siteRef: {name: my-site}
  tenantID: 00000000-0000-0000-0000-000000000001
  vpc:
    name: my-vpc
    networkVirtualizationType: ETHERNET_VIRTUALIZER
    description: theirs
    labels: {environment: dev}
    networkSecurityGroup:
      name: my-group
      rules:
        - {name: allow-ssh, direction: ingress, protocol: tcp, portRange: "22", sourceCIDR: 10.0.0.0/8, action: allow}
        - {name: allow-all, direction: egress, protocol: all, action: allow}
  subnets:
    - {name: control-plane, cidr: 10.0.1.0/24, role: control-plane, labels: {tier: one}}
    - {name: workers, cidr: 10.0.2.0/24, role: worker}
  vpcPeerings:
    - peerVpcId: 00000000-0000-0000-0000-000000000099
  authentication:
    secretRef: {name: credentials, namespace: default}
`},
		{"a machine", `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: NvidiaBMMMachine
metadata: {name: theirs}
spec:
  instanceType: {id: 00000000-0000-0000-0000-000000000010}
  operatingSystem: {id: 00000000-0000-0000-0000-000000000020, type: ubuntu, version: "24.04"}
  network:
    vpcPrefixName: nodes
    ipAddress: 10.0.1.11
    additionalInterfaces:
      - {vpcPrefixName: storage, ipAddress: 10.0.3.11, isPhysical: true}
  sshKeyGroups: [00000000-0000-0000-0000-000000000030]
  infiniBandInterfaces:
    - {partitionID: 00000000-0000-0000-0000-000000000040, device: ConnectX-7, deviceInstance: 1, isPhysical: true}
  nvlinkInterfaces:
    - {logicalPartitionID: 00000000-0000-0000-0000-000000000050, deviceInstance: 0}
  dpuExtensionServices:
    - {serviceID: 00000000-0000-0000-0000-000000000060, version: v1}
  labels: {role: worker}
  description: theirs
  alwaysBootWithCustomIpxe: true
  phoneHomeEnabled: true
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			strict := client.WithFieldValidation(c, metav1.FieldValidationStrict)
			object := &unstructured.Unstructured{}
			g.Expect(yaml.Unmarshal([]byte(row.manifest), &object.Object)).To(Succeed())
			object.SetNamespace(namespace)
			g.Expect(strict.Create(t.Context(), object)).To(Succeed())
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, namespace := testenv.Client(t), testenv.Namespace(t)

	cluster := validCluster()
	cluster.Namespace, cluster.Name = namespace, "defaults"
	cluster.Spec.IPBlock = &IPBlockReference{Create: &IPBlockCreateSpec{Prefix: "10.0.0.0/16"}}
	g.Expect(c.Create(t.Context(), cluster)).To(Succeed())
	g.Expect(cluster.Spec.VPC.NetworkVirtualizationType).To(Equal(EthernetVirtualizer))
	g.Expect(cluster.Spec.IPBlock.Create.RoutingType).To(Equal(RoutingDatacenterOnly))

	machine := validMachine()
	machine.Namespace, machine.Name = namespace, "defaults"
	machine.Spec.InfiniBandInterfaces = []InfiniBandInterface{{PartitionID: id, Device: "ConnectX-7"}}
	machine.Spec.NVLinkInterfaces = []NVLinkInterface{{LogicalPartitionID: id}}
	g.Expect(c.Create(t.Context(), machine)).To(Succeed())
	g.Expect(machine.Spec.PhoneHomeEnabled).To(HaveValue(BeFalse()))
	g.Expect(machine.Spec.InfiniBandInterfaces[0].DeviceInstance).To(HaveValue(BeZero()))
	g.Expect(machine.Spec.InfiniBandInterfaces[0].IsPhysical).To(HaveValue(BeTrue()))
	g.Expect(machine.Spec.NVLinkInterfaces[0].DeviceInstance).To(HaveValue(BeZero()))
}

// What Cluster API's contract asks of the CRDs.
func TestCRDs_carryTheContractLabel(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	for _, plural := range []string{"nvidiabmmclusters", "nvidiabmmclustertemplates", "nvidiabmmmachines", "nvidiabmmmachinetemplates"} {
		crd := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
		g.Expect(c.Get(t.Context(), client.ObjectKey{Name: plural + "." + GroupVersion.Group}, crd)).To(Succeed())
		g.Expect(crd.Labels).To(HaveKeyWithValue("cluster.x-k8s.io/v1beta2", "v1beta1"))
	}
}

func TestOutsideIDs_areThoseOfWhatIsOurs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := validCluster()
	shown := func() (texts []string) {
		for _, o := range cluster.OutsideIDs() {
			texts = append(texts, o.String())
		}
		return texts
	}
	g.Expect(shown()).To(BeEmpty())
	cluster.Status = NvidiaBMMClusterStatus{
		SiteID: "site", VPCID: "vpc", NetworkSecurityGroupID: "group", IPBlockID: "block", ParentIPBlockID: "parent", AllocationID: "allocation",
		Subnets:     []SubnetStatus{{Name: "a", ID: "subnet"}},
		VPCPrefixes: []VPCPrefixStatus{{Name: "b", ID: "prefix"}},
		VPCPeerings: []VPCPeeringStatus{{PeerVPCID: "peer", ID: "peering"}},
	}
	g.Expect(shown()).To(ConsistOf("VPC vpc", "network security group group", "IP block parent", "allocation allocation",
		"subnet subnet", "VPC prefix prefix", "VPC peering peering"), "site and tenant's block are never ours")
	cluster.Spec.VPC.ID = "vpc"
	cluster.Spec.VPC.NetworkSecurityGroup = &NetworkSecurityGroupSpec{ID: "group"}
	g.Expect(shown()).NotTo(ContainElements("VPC vpc", "network security group group"))
	cluster.Spec.VPC.NetworkSecurityGroup = &NetworkSecurityGroupSpec{ID: "another"}
	g.Expect(shown()).To(ContainElement("network security group group"), "made before the user's own was named")
}

func TestNetwork_interfacesAreInTheirOrder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	network := NetworkSpec{NetworkInterface: NetworkInterface{SubnetName: "a"}, AdditionalInterfaces: []NetworkInterface{{SubnetName: "b"}, {SubnetName: "c"}}}
	g.Expect(network.Interfaces()).To(Equal([]NetworkInterface{{SubnetName: "a"}, {SubnetName: "b"}, {SubnetName: "c"}}))
	g.Expect(NetworkSpec{}.Interfaces()).To(Equal([]NetworkInterface{{}}), "every instance has a first one")
}

// Cluster API and the autoscaler read it, by these names.
func TestMachineTemplate_keepsItsStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	template := &NvidiaBMMMachineTemplate{Spec: NvidiaBMMMachineTemplateSpec{Template: NvidiaBMMMachineTemplateResource{Spec: validMachine().Spec}}}
	template.Namespace, template.Name = testenv.Namespace(t), "sized"
	g.Expect(c.Create(t.Context(), template)).To(Succeed())
	patch := `{"status": {"capacity": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"}, "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"}}}`
	g.Expect(c.Status().Patch(t.Context(), template, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
	g.Expect(template.Status.Capacity.Cpu().Value()).To(BeEquivalentTo(64))
	g.Expect(template.Status.NodeInfo).To(Equal(NodeInfo{Architecture: ArchitectureAMD64, OperatingSystem: "linux"}))
	patch = `{"status": {"nodeInfo": {"architecture": "z80"}}}`
	testenv.Answered(t, c.Status().Patch(t.Context(), template, client.RawPatch("application/merge-patch+json", []byte(patch))), `Unsupported value: "z80"`)
}

func checkCreate[T client.Object](t *testing.T, valid func() T, refusals []refusal[T]) {
	t.Helper()
	namespace := testenv.Namespace(t)
	for _, row := range refusals {
		object := valid()
		object.SetNamespace(namespace)
		testenv.Created(t, row.name, object, row.change, row.message)
	}
}

func checkUpdate[T client.Object](t *testing.T, valid func() T, refusals []refusal[T]) {
	t.Helper()
	namespace := testenv.Namespace(t)
	for _, row := range refusals {
		object := valid()
		object.SetNamespace(namespace)
		testenv.Updated(t, row.name, object, row.change, row.message)
	}
}
