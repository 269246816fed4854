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

// refusal is a request and how the real service refuses it.
type refusal struct {
	method, path, body string
	status             int
	says               string
}

func (b bench) expectRefusals(rows map[string]refusal) {
	for name, row := range rows {
		status, body := b.call(row.method, base+row.path, row.body)
		b.Expect(status).To(Equal(row.status), "%s: %s", name, body)
		b.Expect(body).To(And(ContainSubstring(`"message":`), ContainSubstring(row.says)), name)
	}
}

// fields are the fields of a request.
type fields map[string]any

// with returns good as JSON, with some fields changed, or left out if nil.
func with(b bench, good, changes fields) string {
	maps.Copy(good, changes)
	maps.DeleteFunc(good, func(_ string, value any) bool { return value == nil })
	body, err := json.Marshal(good)
	b.Expect(err).NotTo(HaveOccurred())
	return string(body)
}

func newVPCBody(b bench, changes fields) string {
	return with(b, fields{"name": "xx", "siteId": sim.DefaultSiteID}, changes)
}

// populated is a world in which something of every kind exists.
type populated struct {
	vpc, young    *client.VPC    // young is not ready yet
	subnet, other *client.Subnet // other is all that its VPC has
	instance      *client.Instance
}

func populate(b bench) populated {
	w := populated{vpc: b.vpc("net")}
	w.subnet = b.subnet(w.vpc, "nodes")
	w.other = b.subnet(b.vpc("other"), "others")
	w.instance = b.instance("node-1", w.subnet)
	var err error
	w.young, err = b.client.CreateVPC(b.t.Context(), client.VPCCreateRequest{Name: "young", SiteID: sim.DefaultSiteID})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.server.SetStatus(sim.Status{ID: w.young.ID, Status: "Provisioning"})).To(Succeed())
	return w
}

func (w populated) newSubnet(b bench, changes fields) string {
	return with(b, fields{"name": "more", "vpcId": w.vpc.ID, "ipv4BlockId": sim.DefaultIPBlockID, "prefixLength": 24}, changes)
}

func (w populated) newInstance(b bench, changes fields) string {
	return with(b, fields{
		"name": "node-2", "vpcId": w.vpc.ID, "instanceTypeId": sim.DefaultInstanceTypeID,
		"ipxeScript": "#!ipxe", "interfaces": []fields{{"subnetId": w.subnet.ID}},
	}, changes)
}

func TestVPCRequests_thatAreRefused(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populate(b)
		b.expectRefusals(map[string]refusal{
			"VPC without name":             {"POST", "/vpc", newVPCBody(b, fields{"name": nil}), 400, `is missing`},
			"VPC with a short name":        {"POST", "/vpc", newVPCBody(b, fields{"name": "x"}), 400, `"name"`},
			"VPC at an unknown site":       {"POST", "/vpc", newVPCBody(b, fields{"siteId": unknown}), 400, "Could not find Site"},
			"VPC with a misspelled field":  {"POST", "/vpc", newVPCBody(b, fields{"labelz": 1}), 400, "labelz"},
			"VPC that isn't JSON":          {"POST", "/vpc", `name: xx`, 400, "Error validating request data"},
			"VPC of a taken name":          {"POST", "/vpc", newVPCBody(b, fields{"name": "net"}), 409, w.vpc.ID},
			"VPC of a taken ID":            {"POST", "/vpc", newVPCBody(b, fields{"id": w.vpc.ID}), 409, w.vpc.ID},
			"FNN VPC at a site without":    {"POST", "/vpc", newVPCBody(b, fields{"networkVirtualizationType": "FNN"}), 400, "native networking"},
			"VPC that doesn't exist":       {"GET", "/vpc/" + unknown, "", 404, "Could not find VPC"},
			"VPC of an ID that is none":    {"GET", "/vpc/net", "", 400, "Invalid ID in URL"},
			"DELETE of an unknown VPC":     {"DELETE", "/vpc/" + unknown, "", 404, "Could not find VPC"},
			"DELETE of a VPC in use":       {"DELETE", "/vpc/" + w.vpc.ID, "", 400, "Cannot delete VPC"},
			"DELETE of a VPC with subnets": {"DELETE", "/vpc/" + w.other.VPCID, "", 400, "one or more Subnets"},
			"page too large":               {"GET", "/vpc?pageSize=101", "", 400, "pageSize"},
			"unknown order":                {"GET", "/vpc?orderBy=COLOUR_ASC", "", 400, "orderBy"},
			"unknown resource":             {"GET", "/nsg", "", 404, "could not be found"},
		})
	})
}

func TestSubnetRequests_thatAreRefused(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populate(b)
		b.expectRefusals(map[string]refusal{
			"subnet of an unknown VPC":     {"POST", "/subnet", w.newSubnet(b, fields{"vpcId": unknown}), 400, "Could not find VPC"},
			"subnet of a VPC not ready":    {"POST", "/subnet", w.newSubnet(b, fields{"vpcId": w.young.ID}), 400, "in Ready state"},
			"subnet from an unknown block": {"POST", "/subnet", w.newSubnet(b, fields{"ipv4BlockId": unknown}), 400, "IPBlock"},
			"subnet of a taken name":       {"POST", "/subnet", w.newSubnet(b, fields{"name": "nodes"}), 409, w.subnet.ID},
			"subnet larger than its block": {"POST", "/subnet", w.newSubnet(b, fields{"prefixLength": 12}), 400, "IPAM"},
			"subnet too small":             {"POST", "/subnet", w.newSubnet(b, fields{"prefixLength": 31}), 400, "prefixLength"},
			"DELETE of a subnet in use":    {"DELETE", "/subnet/" + w.subnet.ID, "", 400, "being used"},
		})
	})
}

func TestInstanceRequests_thatAreRefused(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populate(b)
		b.expectRefusals(map[string]refusal{
			"instance without machine":    {"POST", "/instance", w.newInstance(b, fields{"instanceTypeId": nil}), 400, "exactly one"},
			"instance with both":          {"POST", "/instance", w.newInstance(b, fields{"machineId": "m"}), 400, "exactly one"},
			"instance of an unknown type": {"POST", "/instance", w.newInstance(b, fields{"instanceTypeId": unknown}), 400, "Instance Type"},
			"instance without a system":   {"POST", "/instance", w.newInstance(b, fields{"ipxeScript": nil}), 400, "operatingSystemId"},
			"instance of another tenant":  {"POST", "/instance", w.newInstance(b, fields{"tenantId": unknown}), 400, "TenantID"},
			"instance in an unknown VPC":  {"POST", "/instance", w.newInstance(b, fields{"vpcId": unknown}), 400, "VPC"},
			"instance in a VPC not ready": {"POST", "/instance", w.newInstance(b, fields{"vpcId": w.young.ID}), 400, "in Ready state"},
			"instance without interfaces": {"POST", "/instance", w.newInstance(b, fields{"interfaces": []fields{}}), 400, "interfaces"},
			"instance, empty interface":   {"POST", "/instance", w.newInstance(b, fields{"interfaces": []fields{{}}}), 400, "subnetId"},
			"instance, unknown subnet": {"POST", "/instance",
				w.newInstance(b, fields{"interfaces": []fields{{"subnetId": unknown}}}), 400, "not found"},
			"instance, subnet elsewhere": {"POST", "/instance",
				w.newInstance(b, fields{"interfaces": []fields{{"subnetId": w.other.ID}}}), 400, "does not match with VPC"},
			"instance, address wanted": {"POST", "/instance",
				w.newInstance(b, fields{"interfaces": []fields{{"subnetId": w.subnet.ID, "ipAddress": "127.100.0.9"}}}), 400, "ipAddress"},
			"instance, unknown SSH keys": {"POST", "/instance",
				w.newInstance(b, fields{"sshKeyGroupIds": []string{unknown}}), 400, "SSH Key Group"},
			"instance of a taken name": {"POST", "/instance", w.newInstance(b, fields{"name": "node-1"}), 409, w.instance.ID},
			"instance on a used machine": {"POST", "/instance",
				w.newInstance(b, fields{"instanceTypeId": nil, "machineId": w.instance.MachineID}), 400, "is assigned to an Instance"},
			"instance on no machine": {"POST", "/instance",
				w.newInstance(b, fields{"instanceTypeId": nil, "machineId": "m"}), 400, "Could not find Machine"},
		})
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
