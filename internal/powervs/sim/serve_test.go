package sim_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/IBM-Cloud/power-go-client/power/models"
	"github.com/IBM/networking-go-sdk/transitgatewayapisv1"
	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestServeHTTP_hasAllServicesAtOneAddress(t *testing.T) {
	b := onLoopback(t)
	server := httptest.NewServer(b.cloud)
	t.Cleanup(server.Close)
	regions := map[string]string{vpcHost: "/vpc/" + region, otherVPCHost: "/vpc/" + otherRegion}
	b.sdk = newSDK(b, &http.Transport{}, func(host string) string { return server.URL + regions[host] })
	n := newNetworks(b)

	groups, _, err := n.manager.ListResourceGroups(n.manager.NewListResourceGroupsOptions())
	n.Expect(err).NotTo(HaveOccurred())
	n.Expect(groups.Resources).To(HaveLen(1))
	id := *n.createInstance("demo", sim.DefaultZone, sim.PlanPower).GUID
	n.Eventually(func() any { return n.state(id) }).WithTimeout(time.Minute).Should(Equal("active"))
	_, err = workspace{bench: b, id: id, auth: b.in(id)}.createDHCP(models.DHCPServerCreate{})
	n.Expect(err).NotTo(HaveOccurred())
	_, answer, err := n.vpc.CreateVPC(&vpcv1.CreateVPCOptions{Name: new("net"), ResourceGroup: group()})
	n.Expect(answered(answer, err)).To(Equal("201"))
	for vpc, want := range map[*vpcv1.VpcV1]int{n.vpc: 1, n.otherVPC: 0} {
		found, _, err := vpc.ListVpcs(&vpcv1.ListVpcsOptions{})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(found.Vpcs).To(HaveLen(want))
	}
	gateways, _, err := n.transit.ListTransitGateways(&transitgatewayapisv1.ListTransitGatewaysOptions{})
	n.Expect(err).NotTo(HaveOccurred())
	n.Expect(gateways.TransitGateways).To(BeEmpty())
	storage := *n.createInstance("storage", "global", sim.PlanObjectStorage).GUID
	n.Eventually(func() string { return createBucket(n.storage(storage), "demo") }).WithTimeout(time.Minute).Should(BeEmpty())
	n.Expect(b.raw(server.URL + "/simulator/state")).To(ContainSubstring(`"bucket":[{`))
}
