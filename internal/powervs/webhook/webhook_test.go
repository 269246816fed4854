package webhook_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, webhook.Features{BootstrapFormatIgnition: true}.SetupWithManager)
}

func byName(name string) *infrav1.IBMPowerVSResourceReference {
	return &infrav1.IBMPowerVSResourceReference{Name: name}
}

// change is one that the API server has to answer with a message; "" means that it takes it.
type change[T client.Object] struct {
	name    string
	change  func(T)
	message string
}

// least is the least that a cluster needs for which everything is created.
func least() *infrav1.IBMPowerVSCluster {
	c := &infrav1.IBMPowerVSCluster{Spec: infrav1.IBMPowerVSClusterSpec{
		Zone: "dal10", ResourceGroup: byName("default"), VPC: &infrav1.VPCResourceReference{Region: "us-south"},
	}}
	c.Annotations = map[string]string{infrav1.CreateInfraAnnotation: "true"}
	return c
}

func TestCluster_needsWhatNothingCanBeCreatedWithout(t *testing.T) {
	t.Parallel()
	const with = `Required value: with the annotation powervs.cluster.x-k8s.io/create-infra: "true" `
	without := func(change func(*infrav1.IBMPowerVSCluster)) func(*infrav1.IBMPowerVSCluster) {
		return func(c *infrav1.IBMPowerVSCluster) {
			change(c)
			c.Annotations = nil
		}
	}
	noZone := func(c *infrav1.IBMPowerVSCluster) { c.Spec.Zone = "" }
	ignition := func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.Ignition = &infrav1.Ignition{}
		c.Spec.CosInstance = &infrav1.CosInstance{Name: "cos", BucketName: "bucket", BucketRegion: "us-south"}
	}
	noRegion := func(c *infrav1.IBMPowerVSCluster) {
		ignition(c)
		c.Spec.CosInstance = &infrav1.CosInstance{Name: "cos", BucketName: "bucket"}
	}
	checkCreate(t, least, []change[*infrav1.IBMPowerVSCluster]{
		{"the least", func(*infrav1.IBMPowerVSCluster) {}, ""},
		{"no zone", noZone, "spec.zone: " + with + "set the PowerVS zone of the cluster, such as dal10"},
		{"no zone, nothing created", without(noZone), ""},
		{"no resource group", func(c *infrav1.IBMPowerVSCluster) { c.Spec.ResourceGroup = nil },
			"spec.resourceGroup.name: " + with + "set the name of the resource group to create resources in"},
		{"a resource group by its ID", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.ResourceGroup = &infrav1.IBMPowerVSResourceReference{ID: "r"}
		}, "spec.resourceGroup.name: " + with},
		{"no VPC", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPC = nil }, "spec.vpc.region: " + with + "set the region of the VPC, such as us-south"},
		{"a VPC without its region", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPC.Name, c.Spec.VPC.Region = "vpc", "" }, "spec.vpc.region: " + with},
		{"Ignition", ignition, ""},
		{"Ignition without COS", func(c *infrav1.IBMPowerVSCluster) { c.Spec.Ignition = &infrav1.Ignition{} },
			"spec.cosInstance.name: " + with + "and ignition set the name of the Cloud Object Storage instance for bootstrap data"},
		{"Ignition without a bucket", func(c *infrav1.IBMPowerVSCluster) {
			ignition(c)
			c.Spec.CosInstance.BucketName = ""
		}, "spec.cosInstance.bucketName: " + with + "and ignition set the name of the bucket"},
		{"Ignition without a region", noRegion, "spec.cosInstance.bucketRegion: " + with + "and ignition set the region of the bucket"},
		{"Ignition without a region, nothing created", without(noRegion), ""},
		{"an annotation in other words", func(c *infrav1.IBMPowerVSCluster) {
			noZone(c)
			c.Annotations[infrav1.CreateInfraAnnotation] = "True"
		}, "spec.zone: " + with},
		{"an annotation that says nothing", func(c *infrav1.IBMPowerVSCluster) { c.Annotations[infrav1.CreateInfraAnnotation] = "yes" },
			`metadata.annotations[powervs.cluster.x-k8s.io/create-infra]: Invalid value: "yes": must be "true" or "false"`},
		{"an annotation that says no", func(c *infrav1.IBMPowerVSCluster) {
			noZone(c)
			c.Annotations[infrav1.CreateInfraAnnotation] = "false"
		}, ""},
	})
	checkCreate(t, func() *infrav1.IBMPowerVSClusterTemplate {
		template := &infrav1.IBMPowerVSClusterTemplate{}
		template.Spec.Template.ObjectMeta.Annotations = map[string]string{infrav1.CreateInfraAnnotation: "true"}
		return template
	}, []change[*infrav1.IBMPowerVSClusterTemplate]{
		{"a template: a ClusterClass may set what is missing", func(*infrav1.IBMPowerVSClusterTemplate) {}, ""},
		{"a template whose annotation says nothing", func(c *infrav1.IBMPowerVSClusterTemplate) {
			c.Spec.Template.ObjectMeta.Annotations[infrav1.CreateInfraAnnotation] = "yes"
		}, `spec.template.metadata.annotations[powervs.cluster.x-k8s.io/create-infra]: Invalid value: "yes"`},
	})
}

func TestCluster_itsNameMakesOthers(t *testing.T) {
	t.Parallel()
	const rule, choose = "and must have at most 63 lower case letters, digits and dashes, of which the first is a letter: ", "choose another name, or set "
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	const long = "a-name-that-has-more-than-forty-two-characters" // 46
	named := func(c *infrav1.IBMPowerVSCluster) {
		c.Spec.VPC.Name, c.Spec.TransitGateway = "vpc", &infrav1.TransitGateway{Name: "gateway"}
		c.Spec.DHCPServer, c.Spec.VPCSubnets = &infrav1.DHCPServer{Name: "dhcp"}, []infrav1.Subnet{{Name: "a"}}
		c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{Name: "api"}}
	}
	for _, row := range []struct {
		title, name string
		change      func(*infrav1.IBMPowerVSCluster)
		message     string
	}{
		{"a short one", "demo", nil, ""},
		{"too long for subnets of zones", long, nil, "metadata.name: Invalid value: \"" + long + `": ` + long + "-vpcsubnet-us-south-1 is named after it, " +
			rule + choose + "spec.vpcSubnets with names"},
		{"subnets by their places", long + "2", func(c *infrav1.IBMPowerVSCluster) { c.Spec.VPCSubnets = make([]infrav1.Subnet, 1) }, ""},
		{"too long for a load balancer's place", long + "-and-more", func(c *infrav1.IBMPowerVSCluster) {
			named(c)
			c.Spec.LoadBalancers[0].Name = ""
		}, choose + "spec.loadBalancers[0].name"},
		{"begins with a digit", "1st", nil, "1st-vpc is named after it, " + rule + choose + "spec.vpc.name"},
		{"has a dot", "a.b", nil, "a.b is named after it, and must have at most 63 letters, digits and dashes: " + choose + "spec.dhcpServer.name"},
		{"begins with a digit, and all is named", "2nd", named, ""},
		{"begins with a digit, and nothing is created", "3rd", func(c *infrav1.IBMPowerVSCluster) { c.Annotations = nil }, ""},
	} {
		t.Run(row.title, func(t *testing.T) {
			cluster := least()
			cluster.Namespace, cluster.Name = namespace, row.name
			if row.change != nil {
				row.change(cluster)
			}
			testenv.Answered(t, c.Create(t.Context(), cluster), row.message)
		})
	}
}

func TestCluster_itsListsAreChecked(t *testing.T) {
	t.Parallel()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	for _, row := range []struct {
		name    string
		change  func(*infrav1.IBMPowerVSCluster)
		message string
	}{
		{"place", func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.VPCSubnets = []infrav1.Subnet{{Name: "place-vpcsubnet-1"}, {}}
		}, `spec.vpcSubnets[0].name: Invalid value: "place-vpcsubnet-1": is the name that spec.vpcSubnets[1], which has none, gets by its place: ` +
			"choose another one, or name that, too"},
		{"balancer", func(c *infrav1.IBMPowerVSCluster) {
			no := false
			c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{}, {Name: "balancer-loadbalancer-0", Public: &no}}
		}, `spec.loadBalancers[1].name: Invalid value: "balancer-loadbalancer-0": is the name that spec.loadBalancers[0]`},
		{"selector", func(c *infrav1.IBMPowerVSCluster) {
			listener := infrav1.AdditionalListenerSpec{Port: 22}
			listener.Selector.MatchLabels = map[string]string{"a b": "c"}
			c.Spec.LoadBalancers = []infrav1.VPCLoadBalancerSpec{{AdditionalListeners: []infrav1.AdditionalListenerSpec{listener}}}
		}, `spec.loadBalancers[0].additionalListeners[22].selector.matchLabels: Invalid value: "a b"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			cluster := least()
			cluster.Namespace, cluster.Name = namespace, row.name
			row.change(cluster)
			testenv.Answered(t, c.Create(t.Context(), cluster), row.message)
		})
	}
}

func machine() *infrav1.IBMPowerVSMachine {
	return &infrav1.IBMPowerVSMachine{Spec: infrav1.IBMPowerVSMachineSpec{Image: byName("image")}}
}

func machineTemplate() *infrav1.IBMPowerVSMachineTemplate {
	t := &infrav1.IBMPowerVSMachineTemplate{}
	t.Spec.Template.Spec = machine().Spec
	return t
}

func TestMachine_itsNetworksRegexIsOne(t *testing.T) {
	t.Parallel()
	regex := func(text string) *infrav1.IBMPowerVSResourceReference {
		return &infrav1.IBMPowerVSResourceReference{RegEx: text}
	}
	const message = `network.regex: Invalid value: "(": isn't a regular expression (RE2): error parsing regexp: missing closing ): ` +
		"`(`. Correct it, or use id or name"
	checkCreate(t, machine, []change[*infrav1.IBMPowerVSMachine]{
		{"one", func(m *infrav1.IBMPowerVSMachine) { m.Spec.Network = regex("^DHCPSERVER[0-9a-z]{32}_Private$") }, ""},
		{"none", func(m *infrav1.IBMPowerVSMachine) { m.Spec.Network = regex("(") }, "spec." + message},
	})
	checkCreate(t, machineTemplate, []change[*infrav1.IBMPowerVSMachineTemplate]{
		{"none in a template", func(m *infrav1.IBMPowerVSMachineTemplate) { m.Spec.Template.Spec.Network = regex("(") }, "spec.template.spec." + message},
	})
}

func TestTemplates_cantBeChanged(t *testing.T) {
	t.Parallel()
	checkChanges(t, machineTemplate, []change[*infrav1.IBMPowerVSMachineTemplate]{
		{"more memory", func(m *infrav1.IBMPowerVSMachineTemplate) { m.Spec.Template.Spec.MemoryGiB = 4 },
			`spec.template.spec.memoryGiB: Invalid value: 4: a template can't be changed: write another one, with another name, and refer to that one`},
		{"labels of the template", func(m *infrav1.IBMPowerVSMachineTemplate) { m.Labels = map[string]string{"a": "b"} }, ""},
	})
	checkChanges(t, func() *infrav1.IBMPowerVSClusterTemplate {
		c := &infrav1.IBMPowerVSClusterTemplate{}
		c.Spec.Template.Spec = least().Spec
		return c
	}, []change[*infrav1.IBMPowerVSClusterTemplate]{
		{"a zone", func(c *infrav1.IBMPowerVSClusterTemplate) { c.Spec.Template.Spec.Zone = "dal12" },
			`spec.template.spec.zone: Invalid value: "dal12": a template can't be changed`},
		{"labels of the template", func(c *infrav1.IBMPowerVSClusterTemplate) { c.Labels = map[string]string{"a": "b"} }, ""},
	})
}

// The topology controller asks, in a dry run, what a change of its template would be.
func TestTemplates_tellTheTopologyControllerWhatAChangeWouldBe(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	object := machineTemplate()
	object.Namespace, object.Name = testenv.Namespace(t), "demo"
	object.SetGroupVersionKind(infrav1.GroupVersion.WithKind("IBMPowerVSMachineTemplate"))
	apply := func(change func(*infrav1.IBMPowerVSMachineTemplate), options ...client.PatchOption) error {
		wanted := object.DeepCopy()
		wanted.ManagedFields, wanted.ResourceVersion = nil, ""
		change(wanted)
		options = append(options, client.FieldOwner("topology"), client.ForceOwnership)
		return c.Patch(t.Context(), wanted, client.Apply, options...) //nolint:staticcheck // as Cluster API does it
	}
	g.Expect(apply(func(*infrav1.IBMPowerVSMachineTemplate) {})).To(Succeed())
	grown := func(m *infrav1.IBMPowerVSMachineTemplate) { m.Spec.Template.Spec.MemoryGiB = 8 }
	asTopology := func(m *infrav1.IBMPowerVSMachineTemplate) {
		grown(m)
		m.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
	}
	g.Expect(apply(asTopology, client.DryRunAll)).To(Succeed())
	g.Expect(apply(grown, client.DryRunAll)).To(MatchError(ContainSubstring("a template can't be changed")), "a dry run of another writer")
	g.Expect(apply(asTopology)).To(MatchError(ContainSubstring("a template can't be changed")), "no dry run")
}

func checkCreate[T client.Object](t *testing.T, valid func() T, changes []change[T]) {
	t.Helper()
	namespace := testenv.Namespace(t)
	for _, row := range changes {
		object := valid()
		object.SetNamespace(namespace)
		testenv.Created(t, row.name, object, row.change, row.message)
	}
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
