package powervstest

import (
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// What WithWorkspace has.
const (
	WorkspaceID = "b0000000-0000-4000-8000-000000000001"
	NetworkID   = "b0000000-0000-4000-8000-000000000002"
	ImageID     = "b0000000-0000-4000-8000-000000000003"
	ImageName   = "rhcos"
)

// WithWorkspace is a world with a workspace of the user's own, which has a network without a DHCP server, and an image.
func WithWorkspace(c *sim.Config) {
	c.Instances = append(c.Instances, sim.Instance{
		ID: WorkspaceID, Name: "shared", Plan: sim.PlanPower, Target: sim.DefaultZone,
		Networks: []sim.Network{{ID: NetworkID, Name: "nodes", CIDR: "192.168.200.0/24"}},
		Images:   []sim.Image{{ID: ImageID, Name: ImageName}},
	})
}

// Plain changes a cluster into one for which nothing is created: it uses what WithWorkspace has.
func Plain(c *infrav1.IBMPowerVSCluster) {
	c.Annotations = nil
	c.Spec = infrav1.IBMPowerVSClusterSpec{
		Authentication:       c.Spec.Authentication,
		ServiceInstance:      &infrav1.IBMPowerVSResourceReference{ID: WorkspaceID},
		Zone:                 sim.DefaultZone,
		Network:              &infrav1.IBMPowerVSResourceReference{ID: NetworkID},
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.168.200.250", Port: 6443},
	}
}

// CreateMachine makes a Machine with bootstrap data, unless that is nil, and an IBMPowerVSMachine as Cluster API would own it.
func (f *Fixture) CreateMachine(
	cluster, name string, userData []byte, change ...func(*infrav1.IBMPowerVSMachine),
) *infrav1.IBMPowerVSMachine {
	f.t.Helper()
	object := f.NewMachine(func(*clusterv1.Machine) {}, cluster, name, userData, change...)
	f.Create(object)
	return object
}

// ControlPlane makes a Machine one of the control plane.
func ControlPlane(m *clusterv1.Machine) {
	m.Labels[clusterv1.MachineControlPlaneLabel] = ""
}

// NewMachine is CreateMachine, with a Machine that own has changed, up to the IBMPowerVSMachine itself, which it returns.
func (f *Fixture) NewMachine(
	own func(*clusterv1.Machine), cluster, name string, userData []byte, change ...func(*infrav1.IBMPowerVSMachine),
) *infrav1.IBMPowerVSMachine {
	f.t.Helper()
	object := &infrav1.IBMPowerVSMachine{
		ObjectMeta: f.CreateOwner(own, cluster, name, "IBMPowerVSMachine", userData),
		Spec:       infrav1.IBMPowerVSMachineSpec{Image: &infrav1.IBMPowerVSResourceReference{Name: ImageName}},
	}
	for _, c := range change {
		c(object)
	}
	return object
}

// NewImage is an IBMPowerVSImage of a cluster.
func (f *Fixture) NewImage(cluster, name string, change ...func(*infrav1.IBMPowerVSImage)) *infrav1.IBMPowerVSImage {
	object := &infrav1.IBMPowerVSImage{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.Namespace, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
		Spec:       infrav1.IBMPowerVSImageSpec{ClusterName: cluster, Bucket: "images", Object: name + ".ova.gz", Region: Region},
	}
	for _, c := range change {
		c(object)
	}
	return object
}

// CreateImage makes an IBMPowerVSImage.
func (f *Fixture) CreateImage(cluster, name string, change ...func(*infrav1.IBMPowerVSImage)) *infrav1.IBMPowerVSImage {
	f.t.Helper()
	object := f.NewImage(cluster, name, change...)
	f.Create(object)
	return object
}

// UntilProvisioned waits until a machine is provisioned: what is ready at once gets its provider ID after its status.
func (f *Fixture) UntilProvisioned(machine *infrav1.IBMPowerVSMachine) {
	f.t.Helper()
	f.UntilReady(machine)
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(machine)).To(Succeed())
		g.Expect(machine.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	}).Should(Succeed())
	f.Expect(machine.Spec.ProviderID).NotTo(BeEmpty(), "Cluster API reads it then")
}

// Join has Cluster API find the node of a machine.
func (f *Fixture) Join(object *infrav1.IBMPowerVSMachine) {
	f.t.Helper()
	machine := &clusterv1.Machine{}
	f.Expect(f.Client.Get(f.t.Context(), client.ObjectKeyFromObject(object), machine)).To(Succeed())
	machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: object.Name}
	f.Expect(f.Client.Status().Update(f.t.Context(), machine)).To(Succeed())
}

// UserData that a virtual machine was made with.
func (f *Fixture) UserData(id string) []byte {
	f.t.Helper()
	for _, m := range f.Cloud.Machines() {
		if m.ID == id {
			return m.UserData
		}
	}
	f.t.Fatalf("no virtual machine %s has been started", id)
	return nil
}
