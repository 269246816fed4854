// Package cloudtest has what tests of the cloud controller manager need: a site with instances, their nodes, and a folder
// with credentials.
package cloudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const (
	vpcID    = "1c000000-0000-4000-8000-000000000001"
	subnetID = "5b000000-0000-4000-8000-000000000001"
)

// World is a site with so many instances, which are ready and have one address each. Their names begin with prefix, because
// nodes have no namespace.
func World(prefix string, instances int) sim.Config {
	world := sim.DefaultWorld()
	world.InstanceTypes[0].Machines = instances + 8
	world.Objects = []sim.Object{
		{Kind: sim.KindVPC, ID: vpcID, Request: bmm.VPCCreateRequest{
			Name: "vpc", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer,
		}},
		{Kind: sim.KindSubnet, ID: subnetID, Request: bmm.SubnetCreateRequest{
			Name: "nodes", VPCID: vpcID, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 18,
		}},
	}
	for n := range instances {
		world.Objects = append(world.Objects, Instance(prefix, n))
	}
	return world
}

// Instance of a World, or an additional one.
func Instance(prefix string, n int) sim.Object {
	return sim.Object{Kind: sim.KindInstance, ID: InstanceID(n), Request: bmm.InstanceCreateRequest{
		Name: NodeName(prefix, n), TenantID: sim.DefaultTenantID, VPCID: vpcID, InstanceTypeID: sim.DefaultInstanceTypeID,
		OperatingSystemID: sim.DefaultOperatingSystemID, UserData: "#cloud-config",
		Interfaces: []bmm.InterfaceCreateRequest{{SubnetID: subnetID}},
	}}
}

// InstanceID is that of an instance of a World.
func InstanceID(n int) string { return fmt.Sprintf("a4000000-0000-4000-8000-%012d", n) }

// NodeName is the name of an instance of a World, and that of its node.
func NodeName(prefix string, n int) string { return fmt.Sprintf("%s-%d", prefix, n) }

// ProviderID is that of the node of an instance of a World.
func ProviderID(n int) string {
	return providerid.ProviderID{SiteID: sim.DefaultSiteID, InstanceID: InstanceID(n)}.String()
}

// Address is that of an instance of a World.
func Address(n int) string { return fmt.Sprintf("127.100.%d.%d", (n+2)>>8, (n+2)&0xff) }

// Node as a kubelet registers it that leaves the rest to a cloud provider.
func Node(name string, change ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{
			Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule,
		}}},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}},
		},
	}
	for _, c := range change {
		c(node)
	}
	return node
}

// NotReady is a node whose kubelet doesn't report any more.
func NotReady(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionUnknown }

// Initialized is a node that the cloud provider has initialized.
func Initialized(node *corev1.Node) { node.Spec.Taints = nil }

// WithProviderID gives a node a provider ID.
func WithProviderID(id string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Spec.ProviderID = id }
}

// Credentials of a World's tenant, by the keys of a Secret.
func Credentials(endpoint, token string) map[string]string {
	return map[string]string{"endpoint": endpoint, "orgName": sim.DefaultOrg, "token": token}
}

// Mount writes files into a folder as the kubelet does: all change at once, with one link.
func Mount(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	version := fmt.Sprintf("..%d", time.Now().UnixNano())
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(folder, version), 0o700))
	for name, content := range files {
		must(os.WriteFile(filepath.Join(folder, version, name), []byte(content), 0o600))
	}
	before, _ := os.Readlink(filepath.Join(folder, "..data"))
	must(os.Symlink(version, filepath.Join(folder, "..data_tmp")))
	must(os.Rename(filepath.Join(folder, "..data_tmp"), filepath.Join(folder, "..data")))
	for name := range files {
		if _, err := os.Lstat(filepath.Join(folder, name)); os.IsNotExist(err) {
			must(os.Symlink(filepath.Join("..data", name), filepath.Join(folder, name)))
		}
	}
	if before != "" {
		must(os.RemoveAll(filepath.Join(folder, before)))
	}
}
