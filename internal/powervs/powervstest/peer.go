package powervstest

import (
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/inventory"
	"github.com/bedplate/bedplate/internal/powervs/providerid"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// Shared is the workspace of WithWorkspace.
var Shared = ibm.Workspace{Zone: sim.DefaultZone, ID: WorkspaceID}

// TakeOver asks for a takeover.
func TakeOver[T client.Object](object T) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[infrav1.TakeOverAnnotation] = "true"
	object.SetAnnotations(annotations)
}

// CreatePeersMachine makes a machine as another provider leaves it: its virtual machine, which carries no tag, and its status. It returns
// the address.
func (f *Fixture) CreatePeersMachine(object *infrav1.IBMPowerVSMachine, in ibm.Workspace, image, network string) (address string) {
	f.t.Helper()
	api := f.API()
	made, err := api.CreateServer(f.t.Context(), in, ibm.ServerRequest{
		Name: object.Name, ImageID: image, NetworkID: network, SystemType: "s1022", ProcessorType: "shared", Processors: 0.25, MemoryGiB: 2,
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.Eventually(func(g Gomega) {
		server, err := inventory.New(time.Hour, clock.RealClock{}).Of(f.t.Context(), api, in, made.ID)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(server.Networks[0].IP).NotTo(BeEmpty())
		address = server.Networks[0].IP
	}).Should(Succeed())
	region := ibm.PowerVSRegion(in.Zone)
	object.Spec.ProviderID = providerid.ProviderID{Region: region, Zone: in.Zone, Workspace: in.ID, VM: made.ID}.String()
	object.Finalizers = []string{infrav1.MachineFinalizer}
	f.Create(object)
	object.Status = infrav1.IBMPowerVSMachineStatus{
		Ready: true, InstanceID: made.ID, InstanceState: inventory.StatusActive, Health: "OK", Region: region, Zone: in.Zone,
		Addresses: []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: address}},
	}
	f.Expect(f.Client.Status().Update(f.t.Context(), object)).To(Succeed())
	return address
}

// CreatePeersImage makes an image as another provider leaves it: an import without a tag, and its status.
func (f *Fixture) CreatePeersImage(object *infrav1.IBMPowerVSImage, in ibm.Workspace) {
	f.t.Helper()
	job, err := f.API().ImportImage(f.t.Context(), in, ibm.ImageImport{
		Name: object.Name, Bucket: object.Spec.Bucket, Region: object.Spec.Region, Object: object.Spec.Object, StorageType: "tier1",
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.UntilAtRest()
	object.Finalizers = []string{infrav1.ImageFinalizer}
	f.Create(object)
	object.Status = infrav1.IBMPowerVSImageStatus{Ready: true, ImageState: "active", JobID: job}
	for _, image := range f.Cloud.State()[sim.KindImage] {
		if image.Name == object.Name {
			object.Status.ImageID = image.ID
		}
	}
	f.Expect(object.Status.ImageID).NotTo(BeEmpty())
	f.Expect(f.Client.Status().Update(f.t.Context(), object)).To(Succeed())
}

// Creates are how often each operation was called that makes something.
func (f *Fixture) Creates() map[string]int {
	creates := map[string]int{}
	for operation, times := range f.Cloud.Calls() {
		_, name, _ := strings.Cut(operation, ".")
		for _, verb := range []string{"create", "import", "put"} {
			if strings.HasPrefix(name, verb) && operation != "iam.createToken" {
				creates[operation] = times
			}
		}
	}
	return creates
}
