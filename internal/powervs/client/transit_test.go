package client_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestTransitGateway_connectsVPCAndWorkspace(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, vpc, workspace := b.t.Context(), b.newVPC("demo"), b.newInstance("demo", client.PlanPowerVS, zone)
		request := client.TransitGatewayRequest{Name: "demo", Location: region, ResourceGroupID: group}
		made := must(b.CreateTransitGateway(ctx, request))
		b.Expect(errorOf(b.CreateTransitGateway(ctx, request))).To(beOf(fault.Conflict))
		toVPC := client.ConnectionRequest{Name: "vpc", NetworkType: client.NetworkTypeVPC, NetworkCRN: vpc.CRN}
		b.Expect(errorOf(b.CreateConnection(ctx, made.ID, toVPC))).To(beOf(fault.Busy), "the gateway isn't available")
		b.pass(30 * time.Second)
		found := must(b.TransitGateway(ctx, made.ID))
		b.Expect(*found).To(And(HaveField("Status", "available"), HaveField("Location", region),
			HaveField("Global", false), HaveField("ResourceGroup.ID", group)))
		b.Expect(b.TransitGateways(ctx)).To(ConsistOf(*found))

		connection := must(b.CreateConnection(ctx, made.ID, toVPC))
		toPower := client.ConnectionRequest{Name: "power", NetworkType: client.NetworkTypePowerVS, NetworkCRN: workspace.CRN}
		must(b.CreateConnection(ctx, made.ID, toPower))
		b.Expect(errorOf(b.CreateConnection(ctx, made.ID, toPower))).To(beOf(fault.Conflict))
		b.pass(time.Minute)
		b.Expect(b.Connections(ctx, made.ID)).To(ConsistOf(
			And(HaveField("Name", "vpc"), HaveField("NetworkCRN", vpc.CRN), HaveField("Status", "attached")),
			And(HaveField("Name", "power"), HaveField("NetworkType", client.NetworkTypePowerVS), HaveField("NetworkCRN", workspace.CRN))))
		b.Expect(b.Connection(ctx, made.ID, connection.ID)).To(HaveValue(HaveField("Status", "attached")))
		b.Expect(b.DeleteTransitGateway(ctx, made.ID)).To(beOf(fault.Busy))
		for _, c := range must(b.Connections(ctx, made.ID)) {
			b.Expect(b.DeleteConnection(ctx, made.ID, c.ID)).To(Succeed())
		}
		b.pass(30 * time.Second)
		b.Expect(b.DeleteConnection(ctx, made.ID, connection.ID)).To(beOf(fault.NotFound))
		b.Expect(b.DeleteTransitGateway(ctx, made.ID)).To(Succeed())
		b.pass(20 * time.Second)
		b.Expect(b.DeleteTransitGateway(ctx, made.ID)).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.TransitGateway(ctx, made.ID))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.Connection(ctx, made.ID, connection.ID))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.Connections(ctx, made.ID))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.CreateConnection(ctx, made.ID, toVPC))).To(beOf(fault.Invalid))
	})
}

func TestTransitGateways_areReadInPagesAndLimited(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		request := client.TransitGatewayRequest{Location: region, Global: true, ResourceGroupID: group}
		for i := range 60 {
			request.Name = fmt.Sprintf("gateway-%d", i)
			must(b.CreateTransitGateway(b.t.Context(), request))
		}
		b.Expect(b.TransitGateways(b.t.Context())).To(And(HaveLen(60), HaveEach(HaveField("Global", true))))
		request.Name = "one-more"
		b.Expect(errorOf(b.CreateTransitGateway(b.t.Context(), request))).To(beOf(fault.Quota))
	}, func(c *sim.Config) { c.Quotas.TransitGateways = 60 })
}
