package sim_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/fault"
)

// TestRefusals says what the real service refuses, and how.
func TestRefusals(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		subnet := b.subnet(vpc, "nodes")
		other := b.subnet(b.vpc("other"), "others")
		instance := b.instance("node-1", subnet)
		young, err := b.client.CreateVPC(b.t.Context(), client.VPCCreateRequest{Name: "young", SiteID: sim.DefaultSiteID})
		b.Expect(err).NotTo(HaveOccurred())

		type fields map[string]any
		// with returns good as JSON, with some fields changed, or left out if nil.
		with := func(good, changes fields) string {
			maps.Copy(good, changes)
			maps.DeleteFunc(good, func(_ string, value any) bool { return value == nil })
			body, err := json.Marshal(good)
			b.Expect(err).NotTo(HaveOccurred())
			return string(body)
		}
		newInstance := func(changes fields) string {
			return with(fields{"name": "node-2", "vpcId": vpc.ID, "instanceTypeId": sim.DefaultInstanceTypeID,
				"ipxeScript": "#!ipxe", "interfaces": []fields{{"subnetId": subnet.ID}}}, changes)
		}
		newSubnet := func(changes fields) string {
			return with(fields{"name": "more", "vpcId": vpc.ID, "ipv4BlockId": sim.DefaultIPBlockID, "prefixLength": 24}, changes)
		}
		newVPC := func(changes fields) string { return with(fields{"name": "xx", "siteId": sim.DefaultSiteID}, changes) }
		for name, row := range map[string]struct {
			method, path, body string
			status             int
			says               string
		}{
			"VPC without name":             {"POST", "/vpc", newVPC(fields{"name": nil}), 400, `is missing`},
			"VPC with a short name":        {"POST", "/vpc", newVPC(fields{"name": "x"}), 400, `"name"`},
			"VPC at an unknown site":       {"POST", "/vpc", newVPC(fields{"siteId": unknown}), 400, "Could not find Site"},
			"VPC with a misspelled field":  {"POST", "/vpc", newVPC(fields{"labelz": 1}), 400, "labelz"},
			"VPC that isn't JSON":          {"POST", "/vpc", `name: xx`, 400, "Error validating request data"},
			"VPC of a taken name":          {"POST", "/vpc", newVPC(fields{"name": "net"}), 409, vpc.ID},
			"VPC of a taken ID":            {"POST", "/vpc", newVPC(fields{"id": vpc.ID}), 409, vpc.ID},
			"FNN VPC at a site without":    {"POST", "/vpc", newVPC(fields{"networkVirtualizationType": "FNN"}), 400, "native networking"},
			"VPC that doesn't exist":       {"GET", "/vpc/" + unknown, "", 404, "Could not find VPC"},
			"VPC of an ID that is none":    {"GET", "/vpc/net", "", 400, "Invalid ID in URL"},
			"DELETE of an unknown VPC":     {"DELETE", "/vpc/" + unknown, "", 404, "Could not find VPC"},
			"DELETE of a VPC in use":       {"DELETE", "/vpc/" + vpc.ID, "", 400, "Cannot delete VPC"},
			"subnet of an unknown VPC":     {"POST", "/subnet", newSubnet(fields{"vpcId": unknown}), 400, "Could not find VPC"},
			"subnet of a VPC not ready":    {"POST", "/subnet", newSubnet(fields{"vpcId": young.ID}), 400, "in Ready state"},
			"subnet from an unknown block": {"POST", "/subnet", newSubnet(fields{"ipv4BlockId": unknown}), 400, "IPBlock"},
			"subnet of a taken name":       {"POST", "/subnet", newSubnet(fields{"name": "nodes"}), 409, subnet.ID},
			"subnet larger than its block": {"POST", "/subnet", newSubnet(fields{"prefixLength": 12}), 400, "IPAM"},
			"subnet too small":             {"POST", "/subnet", newSubnet(fields{"prefixLength": 31}), 400, "prefixLength"},
			"DELETE of a subnet in use":    {"DELETE", "/subnet/" + subnet.ID, "", 400, "being used"},
			"instance without machine":     {"POST", "/instance", newInstance(fields{"instanceTypeId": nil}), 400, "exactly one"},
			"instance with both":           {"POST", "/instance", newInstance(fields{"machineId": "m"}), 400, "exactly one"},
			"instance of an unknown type":  {"POST", "/instance", newInstance(fields{"instanceTypeId": unknown}), 400, "Instance Type"},
			"instance without a system":    {"POST", "/instance", newInstance(fields{"ipxeScript": nil}), 400, "operatingSystemId"},
			"instance of another tenant":   {"POST", "/instance", newInstance(fields{"tenantId": unknown}), 400, "TenantID"},
			"instance in an unknown VPC":   {"POST", "/instance", newInstance(fields{"vpcId": unknown}), 400, "VPC"},
			"instance in a VPC not ready":  {"POST", "/instance", newInstance(fields{"vpcId": young.ID}), 400, "in Ready state"},
			"instance without interfaces":  {"POST", "/instance", newInstance(fields{"interfaces": []fields{}}), 400, "interfaces"},
			"instance, empty interface":    {"POST", "/instance", newInstance(fields{"interfaces": []fields{{}}}), 400, "subnetId"},
			"instance, unknown subnet": {"POST", "/instance",
				newInstance(fields{"interfaces": []fields{{"subnetId": unknown}}}), 400, "not found"},
			"instance, subnet elsewhere": {"POST", "/instance",
				newInstance(fields{"interfaces": []fields{{"subnetId": other.ID}}}), 400, "does not match with VPC"},
			"instance, address wanted": {"POST", "/instance",
				newInstance(fields{"interfaces": []fields{{"subnetId": subnet.ID, "ipAddress": "127.100.0.9"}}}), 400, "ipAddress"},
			"instance, unknown SSH keys": {"POST", "/instance",
				newInstance(fields{"sshKeyGroupIds": []string{unknown}}), 400, "SSH Key Group"},
			"instance of a taken name": {"POST", "/instance", newInstance(fields{"name": "node-1"}), 409, instance.ID},
			"instance on a used machine": {"POST", "/instance",
				newInstance(fields{"instanceTypeId": nil, "machineId": instance.MachineID}), 400, "is assigned to an Instance"},
			"instance on no machine": {"POST", "/instance",
				newInstance(fields{"instanceTypeId": nil, "machineId": "m"}), 400, "Could not find Machine"},
			"page too large":   {"GET", "/vpc?pageSize=101", "", 400, "pageSize"},
			"unknown order":    {"GET", "/vpc?orderBy=COLOUR_ASC", "", 400, "orderBy"},
			"unknown resource": {"GET", "/nsg", "", 404, "could not be found"},
		} {
			status, body := b.call(row.method, base+row.path, row.body)
			b.Expect(status).To(Equal(row.status), "%s: %s", name, body)
			b.Expect(body).To(And(ContainSubstring(`"message":`), ContainSubstring(row.says)), name)
		}
	})
}

func TestAuthentication_comesAfterThePath(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, row := range []struct {
			token, path string
			status      int
		}{
			{sim.DefaultToken, base + "/site", 200},
			{"wrong", base + "/site", 401},
			{"", base + "/site", 401},
			{sim.DefaultToken, "/v2/org/other/carbide/site", 403},
			{"wrong", "/v2/org/" + sim.DefaultOrg + "/nico/site", 404},
			{"wrong", "/", 404},
		} {
			status, body := b.callAs(row.token, http.MethodGet, row.path, "")
			b.Expect(status).To(Equal(row.status), row.path)
			b.Expect(body).To(HavePrefix(map[bool]string{true: "[", false: `{"message":`}[status == 200]))
		}
		b.Expect(b.server.Calls()).To(Equal(map[string]int{"listSites": 4}), "refused calls count too")

		b.server.SetTokens([]string{"new"})
		_, err := b.client.Tenant(b.t.Context())
		b.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
	})
}

func TestSites_canBeSeenOnceTheTenantExists(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		_, err := b.client.SiteByName(b.t.Context(), "site-1")
		b.Expect(fault.ClassOf(err)).To(Equal(fault.Invalid))
		tenant, err := b.client.Tenant(b.t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(tenant.ID).To(Equal(sim.DefaultTenantID))
		site, err := b.client.SiteByName(b.t.Context(), "site-1")
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(site.ID).To(Equal(sim.DefaultSiteID))
	}, func(c *sim.Config) { c.FirstUse = true })
}

func TestCapacity_isRefusedInItsOwnWay(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*sim.Config)
		says   string
	}{
		"no machine left": {func(c *sim.Config) { c.InstanceTypes[0].Machines = 1 }, "400 Bad Request: No Machines are available"},
		"quota used up":   {func(c *sim.Config) { c.InstanceTypes[0].MaxInstances = 1 }, "403 Forbidden: Tenant has reached"},
	} {
		t.Run(name, func(t *testing.T) {
			inSimulatedTime(t, func(b bench) {
				subnet := b.subnet(b.vpc("net"), "nodes")
				b.instance("node-1", subnet)
				_, err := b.client.CreateInstance(b.t.Context(), instanceRequest("node-2", subnet))
				b.Expect(fault.ClassOf(err)).To(Equal(fault.Quota))
				b.Expect(err).To(MatchError(ContainSubstring(row.says)))
			}, row.change)
		})
	}
}

func TestTheSiteWithoutAllocation_isForbidden(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		_, err := b.client.CreateVPC(b.t.Context(), client.VPCCreateRequest{Name: "net", SiteID: sim.DefaultSiteID})
		b.Expect(fault.ClassOf(err)).To(Equal(fault.Quota))
		b.Expect(err).To(MatchError(ContainSubstring("403")))
	}, func(c *sim.Config) { c.IPBlocks[0].TenantID = unknown })
}

func TestATerminatingInstance_ownsItsName(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		dying := b.instance("node-1", subnet)
		b.Expect(b.client.DeleteInstance(b.t.Context(), sim.DefaultSiteID, dying.ID)).To(Succeed())
		_, err := b.client.CreateInstance(b.t.Context(), instanceRequest("node-1", subnet))
		b.Expect(fault.ClassOf(err)).To(Equal(fault.Conflict))
		b.Expect(fault.OtherID(err)).To(Equal(dying.ID))
		b.pass(3 * time.Minute)
		b.Expect(b.instance("node-1", subnet).ID).NotTo(Equal(dying.ID))
	})
}

func TestAVPCID_isTakenForEver(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		request := client.VPCCreateRequest{ID: unknown, Name: "net", SiteID: sim.DefaultSiteID}
		vpc, err := b.client.CreateVPC(b.t.Context(), request)
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(vpc.ID).To(Equal(unknown))
		b.Expect(b.client.DeleteVPC(b.t.Context(), sim.DefaultSiteID, vpc.ID)).To(Succeed())
		b.pass(time.Minute)
		b.Expect(b.status("vpc", vpc.ID)).To(Equal("gone"))
		_, err = b.client.CreateVPC(b.t.Context(), request)
		b.Expect(err).To(MatchError(ContainSubstring("500")))
		b.Expect(b.server.State().Empty()).To(BeTrue())
	})
}

func TestParallelCreates_canDoubleAName(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		var creates sync.WaitGroup
		for range 4 {
			creates.Go(func() {
				_, err := b.client.CreateVPC(b.t.Context(), client.VPCCreateRequest{Name: "net", SiteID: sim.DefaultSiteID})
				b.Expect(err).NotTo(HaveOccurred())
			})
		}
		creates.Wait()
		vpcs, err := b.client.VPCs(b.t.Context(), client.VPCFilter{Query: "net"})
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(vpcs).To(HaveLen(4))
	})
}

func TestNewVPCs_areFNNAtASiteWithNativeNetworking(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		b.Expect(vpc.NetworkVirtualizationType).To(Equal(client.FNN))
		_, err := b.client.CreateSubnet(b.t.Context(), client.SubnetCreateRequest{
			Name: "nodes", VPCID: vpc.ID, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 24})
		b.Expect(err).To(MatchError(ContainSubstring("must have Ethernet network virtualization type")))
	}, func(c *sim.Config) { c.Sites[0].NativeNetworking = true })
}
