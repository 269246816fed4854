package webhook_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m, webhook.SetupWithManager) }

const id = "a0000000-0000-4000-8000-000000000001"

func clusterSpec(cidrs ...string) infrav1.NvidiaBMMClusterSpec {
	spec := infrav1.NvidiaBMMClusterSpec{
		SiteRef: infrav1.SiteReference{Name: "site-1"}, TenantID: id,
		Authentication: infrav1.Authentication{SecretRef: infrav1.SecretReference{Name: "bmm"}},
	}
	for i, cidr := range cidrs {
		spec.Subnets = append(spec.Subnets, infrav1.SubnetSpec{Name: string(rune('a' + i)), CIDR: cidr})
	}
	return spec
}

func prefixSpec(cidrs ...string) infrav1.NvidiaBMMClusterSpec {
	spec := clusterSpec()
	spec.VPC.NetworkVirtualizationType = infrav1.FabricNativeNetworking
	for i, cidr := range cidrs {
		spec.VPCPrefixes = append(spec.VPCPrefixes, infrav1.VPCPrefixSpec{Name: string(rune('a' + i)), CIDR: cidr})
	}
	return spec
}

func within(block string, spec infrav1.NvidiaBMMClusterSpec) infrav1.NvidiaBMMClusterSpec {
	spec.IPBlock = &infrav1.IPBlockReference{Create: &infrav1.IPBlockCreateSpec{Prefix: block}}
	return spec
}

var ranges = []struct {
	name    string
	spec    infrav1.NvidiaBMMClusterSpec
	message string // "": accepted
}{
	{"ranges beside each other", clusterSpec("10.0.0.0/24", "10.0.1.0/24"), ""},
	{"a range within another one", clusterSpec("10.0.0.0/16", "10.0.1.0/24"),
		`subnets[b].cidr: Invalid value: "10.0.1.0/24": overlaps 10.0.0.0/16 of subnet a: choose ranges that don't`},
	{"a range around another one", clusterSpec("10.0.1.0/24", "10.0.0.0/16"), "overlaps 10.0.1.0/24 of subnet a"},
	{"the same range twice", clusterSpec("10.0.1.0/24", "10.0.1.0/24"), "overlaps 10.0.1.0/24 of subnet a"},
	{"a range written from its middle", clusterSpec("10.0.1.7/24", "10.0.1.128/25"), "overlaps"},
	{"VPC prefixes beside each other", prefixSpec("10.0.0.0/31", "10.0.0.2/31"), ""},
	{"VPC prefixes that overlap", prefixSpec("10.0.0.0/24", "10.0.0.2/31"),
		`vpcPrefixes[b].cidr: Invalid value: "10.0.0.2/31": overlaps 10.0.0.0/24 of VPC prefix a`},
	{"ranges in the block to make", within("10.0.0.0/16", clusterSpec("10.0.0.0/24", "10.0.255.0/24")), ""},
	{"the block to make as one range", within("10.0.0.0/16", clusterSpec("10.0.0.0/16")), ""},
	{"a range outside of the block to make", within("10.0.0.0/16", clusterSpec("10.1.0.0/24")),
		`subnets[a].cidr: Invalid value: "10.1.0.0/24": lies outside of ipBlock.create.prefix 10.0.0.0/16: choose a range within it`},
	{"a range larger than the block to make", within("10.0.0.0/16", clusterSpec("10.0.0.0/8")), "lies outside of ipBlock.create.prefix"},
}

func TestCluster_itsRangesAreChecked(t *testing.T) {
	t.Parallel()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	for _, row := range ranges {
		t.Run(row.name, func(t *testing.T) {
			object := &infrav1.NvidiaBMMCluster{Spec: *row.spec.DeepCopy()}
			object.Namespace, object.GenerateName = namespace, "ranges-"
			testenv.Answered(t, c.Create(t.Context(), object), row.message)
		})
		t.Run(row.name+" in a template", func(t *testing.T) {
			object := &infrav1.NvidiaBMMClusterTemplate{}
			object.Namespace, object.GenerateName, object.Spec.Template.Spec = namespace, "ranges-", *row.spec.DeepCopy()
			testenv.Answered(t, c.Create(t.Context(), object), row.message)
		})
	}
}

func TestCluster_itsRangesAreCheckedWhenTheyChange(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	object := &infrav1.NvidiaBMMCluster{Spec: clusterSpec("10.0.0.0/24")}
	object.Namespace, object.Name = testenv.Namespace(t), "demo"
	g.Expect(c.Create(t.Context(), object)).To(Succeed())
	object.Spec.Subnets = append(object.Spec.Subnets, infrav1.SubnetSpec{Name: "b", CIDR: "10.0.0.128/25"})
	testenv.Answered(t, c.Update(t.Context(), object), `spec.subnets[b].cidr: Invalid value: "10.0.0.128/25": overlaps 10.0.0.0/24 of subnet a`)
	object.Spec.Subnets[1].CIDR = "10.0.1.0/24"
	testenv.Answered(t, c.Update(t.Context(), object), "")
}

func TestCluster_itsSecretIsInItsNamespace(t *testing.T) {
	t.Parallel()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	for _, row := range []struct{ name, secret, message string }{
		{"no namespace", "", ""},
		{"its own", namespace, ""},
		{"another", "default", `spec.authentication.secretRef.namespace: Invalid value: "default": Secrets of other namespaces are not used: ` +
			"put the Secret into namespace " + namespace + " and remove this field"},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := &infrav1.NvidiaBMMCluster{Spec: clusterSpec("10.0.0.0/24")}
			object.Namespace, object.GenerateName = namespace, "secret-"
			object.Spec.Authentication.SecretRef.Namespace = row.secret
			testenv.Answered(t, c.Create(t.Context(), object), row.message)
		})
	}
}

func machineTemplate() *infrav1.NvidiaBMMMachineTemplate {
	t := &infrav1.NvidiaBMMMachineTemplate{}
	t.Spec.Template.Spec = infrav1.NvidiaBMMMachineSpec{InstanceSpec: infrav1.InstanceSpec{
		InstanceType: infrav1.InstanceTypeReference{ID: id}, OperatingSystem: infrav1.OperatingSystemReference{ID: id},
		SSHKeyGroups: []string{id},
	}}
	return t
}

func clusterTemplate() *infrav1.NvidiaBMMClusterTemplate {
	t := &infrav1.NvidiaBMMClusterTemplate{}
	t.Spec.Template.Spec = clusterSpec("10.0.0.0/24")
	return t
}

func TestTemplates_cantBeChanged(t *testing.T) {
	t.Parallel()
	checkChanges(t, machineTemplate, []change[*infrav1.NvidiaBMMMachineTemplate]{
		{"another machine", func(m *infrav1.NvidiaBMMMachineTemplate) {
			m.Spec.Template.Spec.InstanceType = infrav1.InstanceTypeReference{MachineID: "fm1"}
		}, `spec.template.spec.instanceType: Invalid value: {"machineID":"fm1"}: a template can't be changed: ` +
			"write another one, with another name, and refer to that one"},
		{"something more", func(m *infrav1.NvidiaBMMMachineTemplate) { m.Spec.Template.Spec.Description = "new" },
			`spec.template.spec.description: Invalid value: "new": a template can't be changed`},
		{"something less", func(m *infrav1.NvidiaBMMMachineTemplate) { m.Spec.Template.Spec.SSHKeyGroups = nil },
			`spec.template.spec.sshKeyGroups: Invalid value: null: a template can't be changed`},
		{"labels of the template", func(m *infrav1.NvidiaBMMMachineTemplate) { m.Labels = map[string]string{"a": "b"} }, ""},
	})
	checkChanges(t, clusterTemplate, []change[*infrav1.NvidiaBMMClusterTemplate]{
		{"another site", func(c *infrav1.NvidiaBMMClusterTemplate) { c.Spec.Template.Spec.SiteRef.Name = "site-2" },
			`spec.template.spec.siteRef: Invalid value: {"name":"site-2"}: a template can't be changed`},
		{"labels of the template", func(c *infrav1.NvidiaBMMClusterTemplate) { c.Labels = map[string]string{"a": "b"} }, ""},
	})
}

// The topology controller asks, in a dry run, what a change of its template would be.
func TestTemplates_tellTheTopologyControllerWhatAChangeWouldBe(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	object := machineTemplate()
	object.Namespace, object.Name = testenv.Namespace(t), "demo"
	object.SetGroupVersionKind(infrav1.GroupVersion.WithKind("NvidiaBMMMachineTemplate"))
	apply := func(change func(*infrav1.NvidiaBMMMachineTemplate), options ...client.PatchOption) error {
		wanted := object.DeepCopy()
		wanted.ManagedFields, wanted.ResourceVersion = nil, ""
		change(wanted)
		options = append(options, client.FieldOwner("topology"), client.ForceOwnership)
		return c.Patch(t.Context(), wanted, client.Apply, options...) //nolint:staticcheck // as Cluster API does it
	}
	g.Expect(apply(func(*infrav1.NvidiaBMMMachineTemplate) {})).To(Succeed())
	grown := func(m *infrav1.NvidiaBMMMachineTemplate) {
		m.Spec.Template.Spec.Network.AdditionalInterfaces = []infrav1.NetworkInterface{{SubnetName: "storage"}}
	}
	asTopology := func(m *infrav1.NvidiaBMMMachineTemplate) {
		grown(m)
		m.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
	}
	g.Expect(apply(asTopology, client.DryRunAll)).To(Succeed())
	g.Expect(apply(grown, client.DryRunAll)).To(MatchError(ContainSubstring("a template can't be changed")), "a dry run of somebody else")
	g.Expect(apply(asTopology)).To(MatchError(ContainSubstring("a template can't be changed")), "no dry run")
}

// change is one that the API server has to answer with a message; "" means that it takes it.
type change[T client.Object] struct {
	name    string
	change  func(T)
	message string
}

func checkChanges[T client.Object](t *testing.T, valid func() T, changes []change[T]) {
	t.Helper()
	namespace := testenv.Namespace(t)
	for _, row := range changes {
		object := valid()
		object.SetNamespace(namespace)
		testenv.Updated(t, row.name, object, row.change, row.message)
	}
}
