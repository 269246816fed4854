package sim_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

func TestVPC_isReadyInTheAnswerToItsPOST(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc, err := b.client.CreateVPC(b.t.Context(), client.VPCCreateRequest{Name: "net", SiteID: sim.DefaultSiteID})
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(vpc.Status).To(Equal(client.VPCReady))
		prefix := answer[client.VPCPrefix](b, 201, "POST", "/vpc-prefix", fields{
			"name": "nodes", "vpcId": vpc.ID, "ipBlockId": sim.DefaultIPBlockID, "prefixLength": 24})
		b.Expect(prefix.Status).To(Equal(client.VPCPrefixReady))
	}, func(c *sim.Config) { c.Sites[0].NativeNetworking = true })
}

func TestVPC_mayTakeItsTimeToComeAndToGo(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc, err := b.client.CreateVPC(b.t.Context(), client.VPCCreateRequest{Name: "net", SiteID: sim.DefaultSiteID})
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(vpc.Status).To(Equal(client.VPCPending))
		b.pass(4 * time.Second)
		b.Expect(b.status("vpc", vpc.ID)).To(Equal("Provisioning"))
		b.pass(26 * time.Second)
		b.Expect(b.status("vpc", vpc.ID)).To(Equal("Ready"))

		b.Expect(b.client.DeleteVPC(b.t.Context(), sim.DefaultSiteID, vpc.ID)).To(Succeed())
		b.Expect(b.status("vpc", vpc.ID)).To(Equal("Deleting"))
		b.pass(15 * time.Second)
		b.Expect(b.status("vpc", vpc.ID)).To(Equal("gone"))
		b.Expect(b.server.State().Empty()).To(BeTrue())
	}, func(c *sim.Config) { c.Times.VPC.Duration = 30 * time.Second })
}

func TestVPC_canBeChanged(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc, other := b.vpc("net"), b.vpc("other")
		path := "/vpc/" + vpc.ID
		changed := answer[client.VPC](b, 200, "PATCH", path, fields{"description": "of the test", "labels": fields{"owner": "me"}})
		b.Expect([]any{changed.Name, changed.Description, changed.Labels}).To(Equal([]any{"net", "of the test", client.Labels{"owner": "me"}}))
		changed = answer[client.VPC](b, 200, "PATCH", path, fields{"name": "net-2", "labels": fields{}})
		b.Expect([]any{changed.Name, changed.Description}).To(Equal([]any{"net-2", "of the test"}))
		b.Expect(changed.Labels).To(BeEmpty())
		b.expectRefusals(map[string]refusal{
			"taken name":    {"PATCH", path, `{"name": "other"}`, 409, other.ID},
			"unknown group": {"PATCH", path, with(b, fields{"networkSecurityGroupId": unknown}, nil), 400, "NetworkSecurityGroup"},
			"another type":  {"PATCH", path, `{"networkVirtualizationType": "FNN"}`, 400, "networkVirtualizationType"},
			"unknown VPC":   {"PATCH", "/vpc/" + unknown, `{"name": "xx"}`, 404, "Could not find VPC"},
		})
	})
}

func TestInstance_isPoweredOnWhenItBecomesReady(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		instance := b.instance("node-1", subnet)
		b.Expect(instance.Status).To(Equal(client.InstancePending))
		b.pass(4 * time.Minute)
		b.Expect(b.status("instance", instance.ID)).To(Equal("Provisioning"))
		b.Expect(b.rack.running()).To(BeEmpty())

		b.pass(11 * time.Minute)
		ready, err := b.client.Instance(b.t.Context(), sim.DefaultSiteID, instance.ID)
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(ready.Status).To(Equal(client.InstanceReady))
		b.Expect(ready.Interfaces[0].IPAddresses).To(Equal([]string{"127.100.0.2"}), "behind network and gateway")
		b.Expect(b.rack.running()).To(HaveKeyWithValue(instance.MachineID, sim.Machine{
			ID: instance.MachineID, Hostname: "node-1", Address: netip.MustParseAddr("127.100.0.2"),
			UserData: []byte(userData),
			Metadata: map[string]string{"hostname": "node-1", "sitename": "site-1", "machine-id": instance.MachineID,
				"instance-id": instance.ID, "asn": "4200000001"},
		}))
	})
}

func TestInstance_isGoneOnlyWhenItsMachineIsOff(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.rack.hold = make(chan struct{})
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		b.pass(15 * time.Minute)
		b.Expect(b.client.DeleteInstance(b.t.Context(), sim.DefaultSiteID, instance.ID)).To(Succeed())
		b.pass(time.Hour)
		b.Expect(b.status("instance", instance.ID)).To(Equal("Terminating"))
		close(b.rack.hold)
		b.pass(0)
		b.Expect(b.status("instance", instance.ID)).To(Equal("gone"))
		b.Expect(b.rack.events()).To(Equal([]string{"on node-1", "off node-1"}))
	})
}

func TestInstance_thatIsDeletedEarlyIsNeverPoweredOn(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		b.Expect(b.client.DeleteInstance(b.t.Context(), sim.DefaultSiteID, instance.ID)).To(Succeed())
		b.Expect(b.client.DeleteInstance(b.t.Context(), sim.DefaultSiteID, instance.ID)).To(Succeed(), "twice is allowed")
		b.Expect(b.status("instance", instance.ID)).To(Equal("Terminating"))
		b.pass(time.Hour)
		b.Expect(b.status("instance", instance.ID)).To(Equal("gone"))
		b.Expect(b.rack.events()).To(BeEmpty())
	})
}

func TestInstance_isInErrorWhenItsMachineDoesNotStart(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.rack.err = errors.New("no power")
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		b.pass(15 * time.Minute)
		b.Expect(b.status("instance", instance.ID)).To(Equal("Error"))
	})
}

func TestClose_powersEverythingOff(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		b.instance("node-1", subnet)
		b.pass(15 * time.Minute)
		b.instance("too-late", subnet)
		b.server.Close()
		b.pass(time.Hour)
		b.Expect(b.rack.events()).To(Equal([]string{"on node-1", "off node-1"}))
	})
}

func TestMachines_areInUseAsLongAsTheirInstanceExists(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		b.Expect(b.status("machine", instance.MachineID)).To(Equal("InUse"))
		b.Expect(b.client.DeleteInstance(b.t.Context(), sim.DefaultSiteID, instance.ID)).To(Succeed())
		b.Expect(b.status("machine", instance.MachineID)).To(Equal("InUse"))
		b.pass(3 * time.Minute)
		b.Expect(b.status("machine", instance.MachineID)).To(Equal("Ready"))
	})
}

func TestSubnets_areCutOneBehindTheOther(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		first, second := b.subnet(vpc, "a1"), b.subnet(vpc, "a2")
		b.Expect(first.Ipv4Prefix).To(Equal("127.100.0.0"))
		b.Expect(first.Ipv4Gateway).To(Equal("127.100.0.1"))
		b.Expect(second.Ipv4Prefix).To(Equal("127.100.1.0"))
		b.Expect(b.client.DeleteSubnet(b.t.Context(), sim.DefaultSiteID, first.ID)).To(Succeed())
		b.Expect(b.subnet(vpc, "a3").Ipv4Prefix).To(Equal("127.100.2.0"), "a subnet owns its range until it is gone")
		b.pass(10 * time.Second)
		b.Expect(b.subnet(vpc, "a4").Ipv4Prefix).To(Equal("127.100.0.0"))
	})
}
