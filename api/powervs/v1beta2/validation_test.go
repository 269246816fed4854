package v1beta2_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// refusal is a change that the API server has to answer with a message; "" means that it takes it. In the message, " … " stands
// for anything.
type refusal[T client.Object] struct {
	name    string
	change  func(T)
	message string
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, namespace := testenv.Client(t), testenv.Namespace(t)

	cluster := &IBMPowerVSCluster{}
	cluster.Namespace, cluster.Name = namespace, "defaults"
	cluster.Spec.DHCPServer, cluster.Spec.Ignition = &DHCPServer{}, &Ignition{}
	cluster.Spec.LoadBalancers = []VPCLoadBalancerSpec{{Name: "api", AdditionalListeners: []AdditionalListenerSpec{{Port: 22}}}}
	g.Expect(c.Create(t.Context(), cluster)).To(Succeed())
	g.Expect(cluster.Spec.DHCPServer.DNSServer).To(Equal("1.1.1.1"))
	g.Expect(cluster.Spec.DHCPServer.Snat).To(HaveValue(BeTrue()))
	g.Expect(cluster.Spec.Ignition.Version).To(Equal("2.3"))
	g.Expect(cluster.Spec.LoadBalancers[0].Public).To(HaveValue(BeTrue()))
	g.Expect(cluster.Spec.LoadBalancers[0].AdditionalListeners[0].Protocol).To(Equal(LoadBalancerProtocolTCP))

	machine := &IBMPowerVSMachine{Spec: IBMPowerVSMachineSpec{ImageRef: &LocalObjectReference{Name: "image"}}}
	machine.Namespace, machine.Name = namespace, "defaults"
	g.Expect(c.Create(t.Context(), machine)).To(Succeed())
	g.Expect(machine.Spec.SystemType).To(Equal(DefaultSystemType))
	g.Expect(machine.Spec.ProcessorType).To(Equal(DefaultProcessorType))
	g.Expect(machine.Spec.MemoryGiB).To(BeEquivalentTo(2))
	g.Expect(machine.Spec.Processors).To(BeNil(), "it depends on processorType")

	image := validImage()
	image.Namespace, image.Name = namespace, "defaults"
	g.Expect(c.Create(t.Context(), image)).To(Succeed())
	g.Expect(image.Spec.StorageType).To(Equal("tier1"))
	g.Expect(image.Spec.DeletePolicy).To(Equal(DeletePolicyDelete))
}

// A pointer that is false differs from one that is missing.
func TestDefaults_areNotPutOverFalse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	no := false
	cluster := &IBMPowerVSCluster{}
	cluster.Namespace, cluster.Name = testenv.Namespace(t), "private"
	cluster.Spec.DHCPServer = &DHCPServer{Snat: &no}
	cluster.Spec.LoadBalancers = []VPCLoadBalancerSpec{{Name: "inside", Public: &no}, {Name: "outside"}}
	g.Expect(testenv.Client(t).Create(t.Context(), cluster)).To(Succeed())
	g.Expect(cluster.Spec.DHCPServer.Snat).To(HaveValue(BeFalse()))
	g.Expect(cluster.Spec.LoadBalancers[0].Public).To(HaveValue(BeFalse()))
}

// What Cluster API's contract asks of the CRDs.
func TestCRDs_carryTheContractLabel(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	for _, plural := range []string{"ibmpowervsclusters", "ibmpowervsclustertemplates", "ibmpowervsmachines", "ibmpowervsmachinetemplates", "ibmpowervsimages"} {
		crd := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
		g.Expect(c.Get(t.Context(), client.ObjectKey{Name: plural + "." + GroupVersion.Group}, crd)).To(Succeed())
		g.Expect(crd.Labels).To(HaveKeyWithValue("cluster.x-k8s.io/v1beta2", "v1beta2"))
	}
}

// Cluster API, users and a takeover read them, by these names.
func TestStatus_isKept(t *testing.T) {
	t.Parallel()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	check := func(object client.Object, patch string, want func(Gomega)) {
		t.Helper()
		g := NewWithT(t)
		object.SetNamespace(namespace)
		object.SetName("status")
		g.Expect(c.Create(t.Context(), object)).To(Succeed())
		strict := client.WithFieldValidation(c, metav1.FieldValidationStrict)
		g.Expect(strict.Status().Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		want(g)
	}
	cluster := &IBMPowerVSCluster{}
	check(cluster, `{"status": {"ready": true, "initialization": {"provisioned": true},
		"resourceGroupID": {"id": "rg"}, "serviceInstance": {"id": "w", "controllerCreated": true}, "network": {"id": "n"},
		"dhcpServer": {"id": "d"}, "vpc": {"id": "v", "controllerCreated": false}, "vpcSubnet": {"a": {"id": "s", "controllerCreated": true}},
		"vpcSecurityGroups": {"g": {"id": "sg", "ruleIDs": ["r"], "controllerCreated": true}},
		"transitGateway": {"id": "t", "vpcConnection": {"id": "c1"}, "powerVSConnection": {"id": "c2", "controllerCreated": true}},
		"cosInstance": {"id": "o"}, "loadBalancers": {"b": {"id": "lb", "state": "active", "hostname": "h", "controllerCreated": true}}}}`,
		func(g Gomega) {
			g.Expect(cluster.Status.ResourceGroup.ID).To(Equal("rg"))
			g.Expect(cluster.Status.ServiceInstance).To(HaveValue(Equal(ResourceReference{ID: "w", ControllerCreated: true})))
			g.Expect(cluster.Status.VPC).To(HaveValue(Equal(ResourceReference{ID: "v"})))
			g.Expect(cluster.Status.VPCSecurityGroups["g"].RuleIDs).To(ConsistOf("r"))
			g.Expect(cluster.Status.TransitGateway.PowerVSConnection.ControllerCreated).To(BeTrue())
			g.Expect(cluster.Status.LoadBalancers["b"].Hostname).To(Equal("h"))
		})
	machine := validMachine()
	check(machine, `{"status": {"ready": true, "initialization": {"provisioned": true}, "instanceID": "i", "instanceState": "ACTIVE",
		"health": "OK", "fault": "f", "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}], "region": "dal", "zone": "dal10"}}`,
		func(g Gomega) { g.Expect(machine.Status.Addresses).To(HaveLen(1)) })
	image := validImage()
	check(image, `{"status": {"ready": true, "imageID": "i", "imageState": "active", "jobID": "j"}}`,
		func(g Gomega) { g.Expect(image.Status.JobID).To(Equal("j")) })
	template := &IBMPowerVSMachineTemplate{}
	template.Spec.Template.Spec = validMachine().Spec
	check(template, `{"status": {"capacity": {"cpu": "1", "memory": "2Gi"}, "nodeInfo": {"architecture": "ppc64le", "operatingSystem": "linux"}}}`,
		func(g Gomega) {
			g.Expect(template.Status.Capacity.Memory().String()).To(Equal("2Gi"))
			g.Expect(template.Status.NodeInfo.Architecture).To(Equal(ArchitecturePPC64LE))
		})
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
