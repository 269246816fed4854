package v1beta1_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const id = "a0000000-0000-4000-8000-000000000001"

func validCluster() *NvidiaBMMCluster {
	return &NvidiaBMMCluster{Spec: NvidiaBMMClusterSpec{
		SiteRef:        SiteReference{Name: "site-1"},
		TenantID:       id,
		Authentication: Authentication{SecretRef: SecretReference{Name: "bmm"}},
		Subnets:        []SubnetSpec{{Name: "nodes", PrefixLength: ptr.To[int32](24)}},
	}}
}

func validMachine() *NvidiaBMMMachine {
	return &NvidiaBMMMachine{Spec: NvidiaBMMMachineSpec{
		InstanceType:    InstanceTypeReference{ID: id},
		OperatingSystem: OperatingSystemReference{ID: id},
		Network:         NetworkSpec{SubnetName: "nodes"},
	}}
}

// refusal is a change that the API server has to answer with a message; "" means that it takes it.
type refusal[T client.Object] struct {
	name    string
	change  func(T)
	message string
}

func TestCluster_isCheckedWhenItIsCreated(t *testing.T) {
	t.Parallel()
	checkCreate(t, validCluster, []refusal[*NvidiaBMMCluster]{
		{"a valid one", func(*NvidiaBMMCluster) {}, ""},
		{"no site", func(c *NvidiaBMMCluster) { c.Spec.SiteRef = SiteReference{} }, "spec.siteRef: Required value"},
		{"a site by name and by ID", func(c *NvidiaBMMCluster) { c.Spec.SiteRef.ID = id }, "exactly one of name and id must be set"},
		{"a site ID in capitals", func(c *NvidiaBMMCluster) { c.Spec.SiteRef = SiteReference{ID: strings.ToUpper(id)} }, "spec.siteRef.id"},
		{"a site ID that is no UUID", func(c *NvidiaBMMCluster) { c.Spec.SiteRef = SiteReference{ID: "site-1"} }, "spec.siteRef.id"},
		{"no tenant", func(c *NvidiaBMMCluster) { c.Spec.TenantID = "" }, "spec.tenantID: Required value"},
		{"a tenant that is no UUID", func(c *NvidiaBMMCluster) { c.Spec.TenantID = "acme" }, "spec.tenantID"},
		{"no credentials", func(c *NvidiaBMMCluster) { c.Spec.Authentication = Authentication{} }, "spec.authentication: Required value"},
		{"no subnets", func(c *NvidiaBMMCluster) { c.Spec.Subnets = nil }, "spec.subnets: Required value"},
		{"two subnets of one name", func(c *NvidiaBMMCluster) { c.Spec.Subnets = append(c.Spec.Subnets, c.Spec.Subnets[0]) }, "Duplicate value"},
		{"a subnet without a size", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0].PrefixLength = nil }, "exactly one of cidr and prefixLength must be set"},
		{"a subnet with two sizes", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0].CIDR = "10.0.0.0/24" }, "exactly one of cidr and prefixLength must be set"},
		{"a subnet that is too small", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0].PrefixLength = ptr.To[int32](31) }, "less than or equal to 30"},
		{"a subnet by range", func(c *NvidiaBMMCluster) { c.Spec.Subnets = []SubnetSpec{{Name: "nodes", CIDR: "10.0.1.0/24"}} }, ""},
		{"a range that is none", func(c *NvidiaBMMCluster) { c.Spec.Subnets = []SubnetSpec{{Name: "nodes", CIDR: "10.0.1.0"}} }, "cidr must be an IPv4 range"},
		{"an IPv6 range", func(c *NvidiaBMMCluster) { c.Spec.Subnets = []SubnetSpec{{Name: "nodes", CIDR: "fd00::/64"}} }, "cidr must be an IPv4 range"},
		{"a subnet name with capitals", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0].Name = "Nodes" }, "spec.subnets[0].name"},
		{"an unknown kind of network", func(c *NvidiaBMMCluster) { c.Spec.VPC.NetworkVirtualizationType = "VXLAN" }, "Unsupported value: \"VXLAN\""},
		{"a label of ours", func(c *NvidiaBMMCluster) { c.Spec.VPC.Labels = map[string]LabelValue{"bedplate-owner": "me"} }, "labels that begin with bedplate- are reserved"},
		{"an IP block by name and by ID", func(c *NvidiaBMMCluster) { c.Spec.IPBlock = &IPBlockReference{Name: "b", ID: id} }, "exactly one of name and id must be set"},
		{"an endpoint without a port", func(c *NvidiaBMMCluster) { c.Spec.ControlPlaneEndpoint = &APIEndpoint{Host: "10.0.0.1"} }, "spec.controlPlaneEndpoint.port: Required value"},
	})
}

func TestCluster_isCheckedWhenItIsChanged(t *testing.T) {
	t.Parallel()
	made := func() *NvidiaBMMCluster {
		c := validCluster()
		c.Spec.ControlPlaneEndpoint = &APIEndpoint{Host: "10.0.0.1", Port: 6443}
		c.Status = NvidiaBMMClusterStatus{SiteID: id, IPBlockID: id, VPCID: id}
		return c
	}
	checkUpdate(t, made, []refusal[*NvidiaBMMCluster]{
		{"another site", func(c *NvidiaBMMCluster) { c.Spec.SiteRef.Name = "site-2" }, "siteRef is immutable once the site was found"},
		{"another tenant", func(c *NvidiaBMMCluster) { c.Spec.TenantID = "a0000000-0000-4000-8000-000000000002" }, "tenantID is immutable once the VPC exists"},
		{"another VPC name", func(c *NvidiaBMMCluster) { c.Spec.VPC.Name = "other" }, "vpc is immutable once it exists"},
		{"an IP block", func(c *NvidiaBMMCluster) { c.Spec.IPBlock = &IPBlockReference{Name: "b"} }, "ipBlock is immutable once it was found"},
		{"another endpoint", func(c *NvidiaBMMCluster) { c.Spec.ControlPlaneEndpoint.Port = 443 }, "controlPlaneEndpoint is immutable once it is set"},
		{"no endpoint", func(c *NvidiaBMMCluster) { c.Spec.ControlPlaneEndpoint = nil }, "controlPlaneEndpoint is immutable once it is set"},
		{"another size of a subnet", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0].PrefixLength = ptr.To[int32](25) }, "a subnet can't be changed"},
		{"another subnet instead", func(c *NvidiaBMMCluster) { c.Spec.Subnets[0].Name = "others" }, ""},
		{"one more subnet", func(c *NvidiaBMMCluster) {
			c.Spec.Subnets = append(c.Spec.Subnets, SubnetSpec{Name: "storage", PrefixLength: ptr.To[int32](26)})
		}, ""},
		{"another Secret", func(c *NvidiaBMMCluster) { c.Spec.Authentication.SecretRef.Name = "other" }, ""},
	})
	checkUpdate(t, validCluster, []refusal[*NvidiaBMMCluster]{
		{"a corrected site", func(c *NvidiaBMMCluster) { c.Spec.SiteRef.Name = "site-2" }, ""},
		{"a corrected IP block", func(c *NvidiaBMMCluster) { c.Spec.IPBlock = &IPBlockReference{Name: "b"} }, ""},
		{"a corrected VPC name", func(c *NvidiaBMMCluster) { c.Spec.VPC.Name = "other" }, ""},
		{"an endpoint that comes later", func(c *NvidiaBMMCluster) {
			c.Spec.ControlPlaneEndpoint = &APIEndpoint{Host: "10.0.0.1", Port: 6443}
		}, ""},
	})
}

func TestMachine_isCheckedWhenItIsCreated(t *testing.T) {
	t.Parallel()
	checkCreate(t, validMachine, []refusal[*NvidiaBMMMachine]{
		{"a valid one", func(*NvidiaBMMMachine) {}, ""},
		{"no instance type", func(m *NvidiaBMMMachine) { m.Spec.InstanceType = InstanceTypeReference{} }, "spec.instanceType: Required value"},
		{"a type and a machine", func(m *NvidiaBMMMachine) { m.Spec.InstanceType.MachineID = "fm1" }, "exactly one of id and machineID must be set"},
		{"an unhealthy machine of a type", func(m *NvidiaBMMMachine) { m.Spec.InstanceType.AllowUnhealthyMachine = ptr.To(true) }, "allowUnhealthyMachine goes with machineID"},
		{"no operating system", func(m *NvidiaBMMMachine) { m.Spec.OperatingSystem.ID = "" }, "spec.operatingSystem: Required value"},
		{"no network", func(m *NvidiaBMMMachine) { m.Spec.Network.SubnetName = "" }, "spec.network: Required value"},
		{"a key group that is no UUID", func(m *NvidiaBMMMachine) { m.Spec.SSHKeyGroups = []string{"admins"} }, "spec.sshKeyGroups[0]"},
		{"a label of ours", func(m *NvidiaBMMMachine) { m.Spec.Labels = map[string]LabelValue{"bedplate-key": "x"} }, "labels that begin with bedplate- are reserved"},
	})
}

func TestMachine_isCheckedWhenItIsChanged(t *testing.T) {
	t.Parallel()
	bound := func() *NvidiaBMMMachine {
		m := validMachine()
		m.Spec.ProviderID = "nvidia-bmm://" + id + "/" + id
		return m
	}
	checkUpdate(t, bound, []refusal[*NvidiaBMMMachine]{
		{"another provider ID", func(m *NvidiaBMMMachine) { m.Spec.ProviderID = "nvidia-bmm://other" }, "providerID is immutable once it is set"},
		{"no provider ID", func(m *NvidiaBMMMachine) { m.Spec.ProviderID = "" }, "providerID is immutable once it is set"},
		{"another type", func(m *NvidiaBMMMachine) { m.Spec.InstanceType = InstanceTypeReference{MachineID: "fm1"} }, "instanceType is immutable"},
		{"another system", func(m *NvidiaBMMMachine) { m.Spec.OperatingSystem.ID = "a0000000-0000-4000-8000-000000000002" }, "operatingSystem is immutable"},
		{"another network", func(m *NvidiaBMMMachine) { m.Spec.Network.SubnetName = "other" }, "network is immutable"},
		{"new labels", func(m *NvidiaBMMMachine) { m.Spec.Labels = map[string]LabelValue{"a": "b"} }, "labels are immutable"},
		{"new key groups", func(m *NvidiaBMMMachine) { m.Spec.SSHKeyGroups = []string{id} }, "sshKeyGroups are immutable"},
		{"a new description", func(m *NvidiaBMMMachine) { m.Spec.Description = "x" }, "description is immutable"},
	})
	checkUpdate(t, validMachine, []refusal[*NvidiaBMMMachine]{
		{"a provider ID that comes later", func(m *NvidiaBMMMachine) { m.Spec.ProviderID = "nvidia-bmm://" + id + "/" + id }, ""},
	})
}

func TestTemplates_areCheckedLikeWhatTheyMake(t *testing.T) {
	t.Parallel()
	checkCreate(t, func() *NvidiaBMMMachineTemplate {
		return &NvidiaBMMMachineTemplate{Spec: NvidiaBMMMachineTemplateSpec{Template: NvidiaBMMMachineTemplateResource{Spec: validMachine().Spec}}}
	}, []refusal[*NvidiaBMMMachineTemplate]{
		{"a valid one", func(*NvidiaBMMMachineTemplate) {}, ""},
		{"a type and a machine", func(m *NvidiaBMMMachineTemplate) { m.Spec.Template.Spec.InstanceType.MachineID = "fm1" }, "exactly one of id and machineID must be set"},
	})
	checkCreate(t, func() *NvidiaBMMClusterTemplate {
		return &NvidiaBMMClusterTemplate{Spec: NvidiaBMMClusterTemplateSpec{Template: NvidiaBMMClusterTemplateResource{Spec: validCluster().Spec}}}
	}, []refusal[*NvidiaBMMClusterTemplate]{
		{"a valid one", func(*NvidiaBMMClusterTemplate) {}, ""},
		{"no subnets", func(c *NvidiaBMMClusterTemplate) { c.Spec.Template.Spec.Subnets = nil }, "spec.template.spec.subnets: Required value"},
	})
}

func checkCreate[T client.Object](t *testing.T, valid func() T, refusals []refusal[T]) {
	t.Helper()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			object := valid()
			object.SetNamespace(namespace)
			object.SetGenerateName("create-")
			r.change(object)
			expect(t, c.Create(t.Context(), object), r.message)
		})
	}
}

func checkUpdate[T client.Object](t *testing.T, valid func() T, refusals []refusal[T]) {
	t.Helper()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			object := valid()
			object.SetNamespace(namespace)
			object.SetGenerateName("update-")
			made := object.DeepCopyObject().(T)
			g := NewWithT(t)
			g.Expect(c.Create(t.Context(), made)).To(Succeed())
			object.SetName(made.GetName())
			object.SetResourceVersion(made.GetResourceVersion())
			g.Expect(client.IgnoreNotFound(c.Status().Update(t.Context(), object))).To(Succeed())
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
			r.change(object)
			expect(t, c.Update(t.Context(), object), r.message)
		})
	}
}

func expect(t *testing.T, err error, message string) {
	t.Helper()
	g := NewWithT(t)
	if message == "" {
		g.Expect(err).NotTo(HaveOccurred())
		return
	}
	g.Expect(err).To(MatchError(ContainSubstring(message)))
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
