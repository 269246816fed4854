package client_test

import (
	"encoding/base64"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// newWorkspace makes one that is active.
func (b bench) newWorkspace() client.Workspace {
	b.t.Helper()
	return client.Workspace{Zone: zone, ID: b.newInstance("demo", client.PlanPowerVS, zone).ID}
}

func TestZone_hasCapabilitiesAndSystemTypes(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		found := must(b.Zone(b.t.Context(), zone))
		b.Expect(found.Can(client.EdgeRouter)).To(BeTrue())
		b.Expect(found.Can("flying")).To(BeFalse())
		b.Expect(found.Offers("s1022")).To(BeTrue())
		b.Expect(found.Offers("z17")).To(BeFalse())
		b.Expect(errorOf(b.Zone(b.t.Context(), "dal99"))).To(beOf(fault.Invalid))
		b.Expect(errorOf(b.Zone(b.t.Context(), "../dal10"))).To(beOf(fault.Invalid))
		b.Expect(errorOf(b.Zone(b.t.Context(), "moon1"))).To(beOf(fault.Transient), "an endpoint that knows nothing proves nothing")
	})
}

func TestDHCPServers_comeWithTheirNetwork(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, in := b.t.Context(), b.newWorkspace()
		b.Expect(b.DHCPServers(ctx, in)).To(BeEmpty())
		b.Expect(b.Networks(ctx, in)).To(BeEmpty())
		request := client.DHCPServerRequest{Name: "demo", CIDR: "192.168.7.0/24", DNSServer: "9.9.9.9", SNAT: ptr.To(true)}
		made := must(b.CreateDHCPServer(ctx, in, request))
		b.Expect(made.Status).To(Equal("BUILD"))
		b.Expect(made.Network.Name).To(Equal(client.DHCPNetworkName("demo")))
		request.CIDR = "192.168.8.0/24"
		b.Expect(errorOf(b.CreateDHCPServer(ctx, in, request))).To(beOf(fault.Conflict))
		b.pass(8 * time.Minute)
		b.Expect(b.DHCPServers(ctx, in)).To(ConsistOf(And(HaveField("ID", made.ID), HaveField("Status", "ACTIVE"))))
		network := must(b.Network(ctx, in, made.Network.ID))
		b.Expect(network.CIDR).To(Equal("192.168.7.0/24"))
		b.Expect(network.DNSServers).To(ConsistOf("9.9.9.9"))
		b.Expect(b.Networks(ctx, in)).To(ConsistOf(And(HaveField("ID", network.ID), HaveField("DHCPManaged", true))))

		b.Expect(b.DeleteDHCPServer(ctx, in, made.ID)).To(Succeed())
		b.pass(3 * time.Minute)
		b.Expect(errorOf(b.DHCPServer(ctx, in, made.ID))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.Network(ctx, in, network.ID))).To(beOf(fault.NotFound))
		b.Expect(b.DeleteDHCPServer(ctx, in, made.ID)).To(beOf(fault.NotFound))
	}, func(c *sim.Config) { c.Quotas.DHCPServers = 2 })
}

func TestDHCPServers_areLimited(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		in := b.newWorkspace()
		must(b.CreateDHCPServer(b.t.Context(), in, client.DHCPServerRequest{}))
		b.Expect(errorOf(b.CreateDHCPServer(b.t.Context(), in, client.DHCPServerRequest{}))).To(beOf(fault.Quota))
		b.Expect(errorOf(b.CreateDHCPServer(b.t.Context(), in, client.DHCPServerRequest{Name: "no spaces"}))).To(beOf(fault.Invalid))
	})
}

// newImage imports one that is active.
func (b bench) newImage(in client.Workspace) client.Image {
	b.t.Helper()
	must(b.ImportImage(b.t.Context(), in, client.ImageImport{
		Name: "rhcos", Bucket: "images", Region: region, Object: "rhcos.ova.gz", UserTags: []string{"owner:demo"},
	}))
	b.pass(8*time.Minute + 30*time.Second)
	return must(b.Images(b.t.Context(), in))[0]
}

func TestImages_areImportedByJobs(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, in := b.t.Context(), b.newWorkspace()
		b.Expect(errorOf(b.LastImport(ctx, in))).To(beOf(fault.NotFound))
		request := client.ImageImport{Name: "rhcos", Bucket: "images", Region: region, Object: "rhcos.ova.gz", UserTags: []string{"owner:demo"}}
		job := must(b.ImportImage(ctx, in, request))
		b.Expect(b.Job(ctx, in, job)).To(HaveValue(HaveField("Status.State", "queued")))
		b.Expect(b.LastImport(ctx, in)).To(HaveValue(HaveField("ID", job)))
		more := client.ImageImport{Name: "more", Bucket: "b", Region: region, Object: "o.ova"}
		b.Expect(errorOf(b.ImportImage(ctx, in, more))).To(beOf(fault.Busy))
		b.Expect(b.Images(ctx, in)).To(BeEmpty())
		b.pass(8*time.Minute + 30*time.Second)
		b.Expect(b.Job(ctx, in, job)).To(HaveValue(HaveField("Status.State", "completed")))
		b.Expect(errorOf(b.ImportImage(ctx, in, request))).To(beOf(fault.Conflict))
		images := must(b.Images(ctx, in))
		b.Expect(images).To(ConsistOf(And(HaveField("Name", "rhcos"), HaveField("State", "active"))))
		b.Expect(b.Image(ctx, in, images[0].ID)).To(HaveValue(HaveField("UserTags", ConsistOf("owner:demo"))))
		b.Expect(b.DeleteImage(ctx, in, images[0].ID)).To(Succeed())
		b.pass(5 * time.Second)
		b.Expect(errorOf(b.Image(ctx, in, images[0].ID))).To(beOf(fault.NotFound))
		b.Expect(b.DeleteImage(ctx, in, images[0].ID)).To(beOf(fault.NotFound))

		job = must(b.ImportImage(ctx, in, request))
		b.Expect(b.DeleteJob(ctx, in, job)).To(Succeed())
		b.Expect(b.DeleteJob(ctx, in, job)).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.Job(ctx, in, job))).To(beOf(fault.NotFound))
	})
}

func TestServers_fromCreationToTheirLease(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, in := b.t.Context(), b.newWorkspace()
		dhcp := must(b.CreateDHCPServer(ctx, in, client.DHCPServerRequest{Name: "demo"}))
		image := b.newImage(in)
		request := client.ServerRequest{
			Name: "node", ImageID: image.ID, NetworkID: dhcp.Network.ID, SystemType: "s1022", ProcessorType: "shared", Processors: 0.25,
			MemoryGiB: 8, SSHKey: sim.DefaultSSHKey, UserData: []byte("#cloud-config"), UserTags: []string{"owner:demo"},
		}
		made := must(b.CreateServer(ctx, in, request))
		b.Expect(*made).To(And(HaveField("Name", "node"), HaveField("Status", "BUILD"), HaveField("Health.Status", "PENDING"),
			HaveField("UserTags", ConsistOf("owner:demo"))))
		b.Expect(errorOf(b.CreateServer(ctx, in, request))).To(beOf(fault.Conflict))
		b.Expect(b.DeleteDHCPServer(ctx, in, dhcp.ID)).To(beOf(fault.Busy))
		b.Expect(b.DeleteInstance(ctx, in.ID)).To(beOf(fault.Busy))
		b.pass(5 * time.Minute)
		server := must(b.Server(ctx, in, made.ID))
		b.Expect(*server).To(And(HaveField("Status", "ACTIVE"), HaveField("Health.Status", "OK"), HaveField("MemoryGiB", 8.0),
			HaveField("SystemType", "s1022"), HaveField("ProcessorType", "shared"), HaveField("Processors", 0.25), HaveField("ImageID", image.ID)))
		b.Expect(server.Networks).To(HaveLen(1))
		b.Expect(server.Networks[0]).To(And(HaveField("ID", dhcp.Network.ID), HaveField("IP", ""), HaveField("MAC", Not(BeEmpty()))))
		b.Expect(must(b.DHCPServer(ctx, in, dhcp.ID)).Leases).To(ConsistOf(HaveField("MAC", server.Networks[0].MAC)))
		b.Expect(b.Servers(ctx, in)).To(ConsistOf(And(HaveField("ID", made.ID), HaveField("UserTags", BeEmpty()))))

		b.Expect(b.cloud.SetStatus(sim.Status{ID: made.ID, Status: "ERROR", Message: "no power"})).To(Succeed())
		b.Expect(b.Server(ctx, in, made.ID)).To(HaveValue(And(HaveField("Fault.Message", "no power"), HaveField("Health.Status", "CRITICAL"))))
		b.Expect(b.DeleteServer(ctx, in, made.ID)).To(Succeed())
		b.Expect(b.Server(ctx, in, made.ID)).To(HaveValue(HaveField("TaskState", "deleting")))
		b.pass(time.Minute)
		b.Expect(errorOf(b.Server(ctx, in, made.ID))).To(beOf(fault.NotFound))
		b.Expect(b.DeleteServer(ctx, in, made.ID)).To(beOf(fault.NotFound))
	})
}

func TestServers_areRefusedInTheServicesWords(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, in := b.t.Context(), b.newWorkspace()
		dhcp := must(b.CreateDHCPServer(ctx, in, client.DHCPServerRequest{Name: "demo"}))
		good := client.ServerRequest{
			Name: "node", ImageID: b.newImage(in).ID, NetworkID: dhcp.Network.ID, SystemType: "s1022",
			ProcessorType: "shared", Processors: 0.25, MemoryGiB: 8,
		}
		for name, row := range map[string]struct {
			change func(*client.ServerRequest)
			class  fault.Class
		}{
			"no such system": {func(r *client.ServerRequest) { r.SystemType = "z17" }, fault.Invalid},
			"no such key":    {func(r *client.ServerRequest) { r.SSHKey = "unknown" }, fault.Invalid},
			"no such image":  {func(r *client.ServerRequest) { r.ImageID = nothing }, fault.Invalid},
			"too much":       {func(r *client.ServerRequest) { r.MemoryGiB = 4000 }, fault.Quota},
			"odd processors": {func(r *client.ServerRequest) { r.Processors = 0.3 }, fault.Invalid},
		} {
			request := good
			row.change(&request)
			b.Expect(errorOf(b.CreateServer(ctx, in, request))).To(beOf(row.class), name)
		}
	})
}

func TestUserData_isSentEncodedOnce(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, in := b.t.Context(), b.newWorkspace()
		dhcp := must(b.CreateDHCPServer(ctx, in, client.DHCPServerRequest{Name: "demo"}))
		image := b.newImage(in)
		sent := &recorder{}
		must(b.connect(sent.through).CreateServer(ctx, in, client.ServerRequest{
			Name: "node", ImageID: image.ID, NetworkID: dhcp.Network.ID, ProcessorType: "shared", Processors: 1, MemoryGiB: 2,
			UserData: []byte("#!/bin/sh"),
		}))
		b.Expect(sent.body("POST", "/pvm-instances")).To(ContainSubstring(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh"))))
	})
}

func TestWorkspace_takesWithItWhatIsInIt(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		made := must(b.CreateInstance(ctx, client.InstanceRequest{Name: "demo", Plan: client.PlanPowerVS, Target: zone, ResourceGroupID: group}))
		in := client.Workspace{Zone: zone, ID: made.ID}
		b.Expect(errorOf(b.Servers(ctx, in))).To(beOf(fault.Transient), "it isn't there yet")
		b.Expect(errorOf(b.Server(ctx, in, nothing))).To(beOf(fault.Transient))
		b.pass(20 * time.Second)
		b.Expect(b.DeleteInstance(ctx, in.ID)).To(Succeed())
		b.pass(20 * time.Second)
		b.Expect(errorOf(b.Servers(ctx, in))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.Server(ctx, in, nothing))).To(beOf(fault.NotFound))
		b.Expect(b.DeleteDHCPServer(ctx, in, nothing)).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.CreateDHCPServer(ctx, in, client.DHCPServerRequest{}))).To(beOf(fault.Invalid))

		other := client.Workspace{Zone: "dal12", ID: b.newInstance("other", client.PlanPowerVS, zone).ID}
		b.Expect(errorOf(b.Servers(ctx, other))).To(beOf(fault.Credentials), "it isn't in that zone")
	})
}
