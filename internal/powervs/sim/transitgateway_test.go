package sim_test

import (
	"fmt"
	"testing"
	"time"

	tg "github.com/IBM/networking-go-sdk/transitgatewayapisv1"
	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

const transitQuery = "?version=2025-12-09"

// newGateway makes one that is available.
func (n networks) newGateway(name, location string, global bool) *tg.TransitGateway {
	n.t.Helper()
	made, response, err := n.transit.CreateTransitGateway(&tg.CreateTransitGatewayOptions{
		Name: &name, Location: &location, Global: &global, ResourceGroup: &tg.ResourceGroupIdentity{ID: ptr.To(sim.DefaultResourceGroupID)}})
	n.Expect(answered(response, err)).To(Equal("201"))
	n.pass(30 * time.Second)
	return made
}

func (n networks) gatewayStatus(id *string) string {
	g, response, err := n.transit.GetTransitGateway(&tg.GetTransitGatewayOptions{ID: id})
	if err != nil {
		return answered(response, err)
	}
	return *g.Status
}

func (n networks) deleteGateway(id *string) string {
	return answered(n.transit.DeleteTransitGateway(&tg.DeleteTransitGatewayOptions{ID: id}))
}

func (n networks) connect(g *tg.TransitGateway, sort, crn, name string) (*tg.TransitGatewayConnectionCust, string) {
	o := &tg.CreateTransitGatewayConnectionOptions{TransitGatewayID: g.ID, NetworkType: &sort, NetworkID: &crn}
	if name != "" {
		o.Name = &name
	}
	made, response, err := n.transit.CreateTransitGatewayConnection(o)
	return made, answered(response, err)
}

func (n networks) connectionStatus(g *tg.TransitGateway, id *string) string {
	c, response, err := n.transit.GetTransitGatewayConnection(&tg.GetTransitGatewayConnectionOptions{TransitGatewayID: g.ID, ID: id})
	if err != nil {
		return answered(response, err)
	}
	return *c.Status
}

func (n networks) disconnect(g *tg.TransitGateway, id *string) string {
	return answered(n.transit.DeleteTransitGatewayConnection(
		&tg.DeleteTransitGatewayConnectionOptions{TransitGatewayID: g.ID, ID: id}))
}

func TestTransitGateway_connectsAVPCWithAWorkspace(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc, workspace := n.newVPC("net"), n.newInstance("work", sim.DefaultZone, sim.PlanPower)
		g, response, err := n.transit.CreateTransitGateway(&tg.CreateTransitGatewayOptions{Name: ptr.To("gate"), Location: ptr.To(region)})
		n.Expect(answered(response, err)).To(Equal("201"))
		n.Expect([]any{*g.Status, *g.Global, *g.ResourceGroup.ID}).To(Equal([]any{"pending", false, sim.DefaultResourceGroupID}))
		_, answer := n.connect(g, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("409 conflict"), "it isn't available yet")
		n.pass(30 * time.Second)
		n.Expect(n.gatewayStatus(g.ID)).To(Equal("available"))

		first, answer := n.connect(g, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("201"))
		n.Expect([]string{*first.Name, *first.Status}).To(Equal([]string{"net", "pending"}))
		_, answer = n.connect(g, "power_virtual_server", *workspace.CRN, "")
		n.Expect(answer).To(Equal("400 bad_request"), "it needs a name")
		second, answer := n.connect(g, "power_virtual_server", *workspace.CRN, "work")
		n.Expect(answer).To(Equal("201"))
		n.pass(time.Minute)
		n.Expect(n.connectionStatus(g, first.ID)).To(Equal("attached"))
		list, _, err := n.transit.ListTransitGatewayConnections(&tg.ListTransitGatewayConnectionsOptions{TransitGatewayID: g.ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(list.Connections).To(HaveLen(2))
		named, _, err := n.transit.ListTransitGatewayConnections(
			&tg.ListTransitGatewayConnectionsOptions{TransitGatewayID: g.ID, Name: ptr.To("work")})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(*named.Connections[0].NetworkID).To(Equal(*workspace.CRN))

		n.Expect(n.deleteGateway(g.ID)).To(Equal("409 conflict"))
		n.Expect(n.disconnect(g, first.ID)).To(Equal("204"))
		n.Expect(n.connectionStatus(g, first.ID)).To(Equal("deleting"))
		n.Expect(n.disconnect(g, second.ID)).To(Equal("204"))
		n.Expect(n.deleteGateway(g.ID)).To(Equal("409 conflict"), "they are still there")
		n.pass(30 * time.Second)
		n.Expect(n.connectionStatus(g, first.ID)).To(Equal("404 not_found"))
		n.Expect(n.deleteGateway(g.ID)).To(Equal("204"))
		n.Expect(n.gatewayStatus(g.ID)).To(Equal("deleting"))
		_, response, err = n.transit.CreateTransitGateway(&tg.CreateTransitGatewayOptions{Name: ptr.To("gate"), Location: ptr.To(region)})
		n.Expect(answered(response, err)).To(Equal("409 conflict"), "it has its name until it is gone")
		n.pass(20 * time.Second)
		n.Expect(n.gatewayStatus(g.ID)).To(Equal("404 not_found"))
	})
}

func TestTransitGateway_needsGlobalRoutingForAnotherRegion(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		local, global := n.newGateway("local", otherRegion, false), n.newGateway("global", otherRegion, true)
		_, answer := n.connect(local, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("400 bad_request"))
		_, answer = n.connect(global, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("201"))
	})
}

func TestTransitGateway_aNetworkIsConnectedOnce(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		first, second, global := n.newGateway("one", region, false), n.newGateway("two", region, false), n.newGateway("three", region, true)
		made, answer := n.connect(first, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("201"))
		for _, g := range []*tg.TransitGateway{first, second} {
			_, answer = n.connect(g, "vpc", *vpc.CRN, "again")
			n.Expect(answer).To(Equal("409 conflict"))
		}
		_, answer = n.connect(global, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("201"), "one local and one global gateway")
		n.Expect(n.disconnect(first, made.ID)).To(Equal("204"))
		_, answer = n.connect(second, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("409 conflict"), "until the first one is gone")
		n.pass(30 * time.Second)
		_, answer = n.connect(second, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("201"))
	})
}

func TestTransitGateway_losesANetworkThatIsDeleted(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc, g := n.newVPC("net"), n.newGateway("gate", region, false)
		made, answer := n.connect(g, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("201"))
		n.pass(time.Minute)
		n.Expect(n.deleteVPC(vpc.ID)).To(Equal("204"))
		n.pass(10 * time.Second)
		n.Expect(n.connectionStatus(g, made.ID)).To(Equal("detached"))
	})
}

func TestTransitGateway_failsIfThatIsItsOutcome(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		n.Expect(n.cloud.SetOutcome(sim.Outcome{Kind: sim.KindTransitGateway, Status: "failed"})).To(Succeed())
		n.Expect(n.gatewayStatus(n.newGateway("bad", region, false).ID)).To(Equal("failed"))
		n.Expect(n.cloud.SetOutcome(sim.Outcome{Kind: sim.KindConnection, Status: "failed"})).To(Succeed())
		g := n.newGateway("good", region, false)
		made, answer := n.connect(g, "vpc", *vpc.CRN, "")
		n.Expect(answer).To(Equal("201"))
		n.pass(time.Minute)
		n.Expect(n.connectionStatus(g, made.ID)).To(Equal("failed"))
	})
}

func TestTransitGateways_areListedPageByPage(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		for i := range 3 {
			n.newGateway(fmt.Sprintf("gate-%d", i), region, false)
		}
		pager, err := n.transit.NewTransitGatewaysPager(&tg.ListTransitGatewaysOptions{Limit: ptr.To[int64](2)})
		n.Expect(err).NotTo(HaveOccurred())
		all, err := pager.GetAllWithContext(n.t.Context())
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(all).To(HaveLen(3))
	})
}

func TestTransitGatewayRequests_thatAreRefused(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		young, _, err := n.vpc.CreateVPC(&vpcv1.CreateVPCOptions{Name: ptr.To("young")})
		n.Expect(err).NotTo(HaveOccurred())
		youngCRN := *young.CRN
		n.expectRefusals(transitHost, transitQuery, map[string]refusal{
			"no gateway": {"POST", "/v1/transit_gateways/none/connections", `{}`, 404, "not_found"},
		})
		vpc, g := n.newVPC("net"), n.newGateway("gate", region, true)
		noRouter, cos := n.newInstance("osaka", "osa21", sim.PlanPower), n.newInstance("files", "global", sim.PlanObjectStorage)
		n.Expect(n.deleteVPC(young.ID)).To(Equal("204"))
		const path = "/v1/transit_gateways"
		connections := path + "/" + *g.ID + "/connections"
		connection := func(sort, crn, name string) string {
			return fmt.Sprintf(`{"network_type": %q, "network_id": %q, "name": %q}`, sort, crn, name)
		}
		n.expectRefusals(transitHost, transitQuery, map[string]refusal{
			"taken name":          {"POST", path, `{"name": "gate", "location": "eu-de"}`, 409, "conflict"},
			"bad name":            {"POST", path, `{"name": "gate-", "location": "us-south"}`, 400, "bad_request"},
			"no name":             {"POST", path, `{"location": "us-south"}`, 400, "bad_request"},
			"no location":         {"POST", path, `{"name": "xx"}`, 400, "bad_request"},
			"unknown location":    {"POST", path, `{"name": "xx", "location": "mars"}`, 400, "bad_request"},
			"unknown group":       {"POST", path, `{"name": "xx", "location": "us-south", "resource_group": {"id": "x"}}`, 400, "resource_group_not_found"},
			"quota":               {"POST", path, `{"name": "xx", "location": "us-south"}`, 400, "quota_exceeded"},
			"unknown VPC":         {"POST", connections, connection("vpc", "crn:none", "xx"), 404, "not_found"},
			"VPC that is deleted": {"POST", connections, connection("vpc", youngCRN, "xx"), 404, "not_found"},
			"VPC by its ID":       {"POST", connections, connection("vpc", *vpc.ID, "xx"), 404, "not_found"},
			"unknown workspace":   {"POST", connections, connection("power_virtual_server", "crn:none", "xx"), 404, "not_found"},
			"no workspace":        {"POST", connections, connection("power_virtual_server", *cos.CRN, "xx"), 404, "not_found"},
			"no Power Edge":       {"POST", connections, connection("power_virtual_server", *noRouter.CRN, "xx"), 400, "bad_request"},
			"bad connection name": {"POST", connections, connection("vpc", *vpc.CRN, "x x"), 400, "bad_request"},
			"another sort":        {"POST", connections, `{"network_type": "classic"}`, 400, "bad_request"},
			"unknown connection":  {"DELETE", connections + "/none", "", 404, "not_found"},
			"unknown gateway":     {"DELETE", path + "/none", "", 404, "not_found"},
		})
		status, _ := n.call("GET", transitHost, path, "")
		n.Expect(status).To(Equal(400), "no version")
		status, _ = n.callAs("", "GET", transitHost, path+transitQuery, "")
		n.Expect(status).To(Equal(401))
		_, answer := n.connect(g, "vpc", *vpc.CRN, "net")
		n.Expect(answer).To(Equal("201"))
		work := n.newInstance("work", sim.DefaultZone, sim.PlanPower)
		_, answer = n.connect(g, "power_virtual_server", *work.CRN, "net")
		n.Expect(answer).To(Equal("409 conflict"), "the name")
		_, answer = n.connect(g, "power_virtual_server", *work.CRN, "work")
		n.Expect(answer).To(Equal("400 quota_exceeded"))
	}, func(c *sim.Config) { c.Quotas.TransitGateways, c.Quotas.Connections = 1, 1 })
}
