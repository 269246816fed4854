package sim_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/IBM/platform-services-go-sdk/resourcecontrollerv2"
	. "github.com/onsi/gomega"

	"github.com/IBM-Cloud/power-go-client/power/models"

	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// onLoopback serves each service on a port of its own, with time that runs an hour a second.
func onLoopback(t *testing.T, changes ...func(*sim.Config)) bench {
	t.Helper()
	t.Parallel()
	b := bench{Gomega: NewWithT(t), t: t}
	config := sim.DefaultWorld()
	config.Speed = 3600
	for _, change := range changes {
		change(&config)
	}
	var err error
	b.cloud, err = sim.New(config, slog.New(slog.DiscardHandler))
	b.Expect(err).NotTo(HaveOccurred())
	endpoints := map[string]string{}
	for host, handler := range hosts(b.cloud) {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		endpoints[host] = server.URL
	}
	t.Cleanup(b.cloud.Close) // first: it ends calls that hang
	b.sdk = newSDK(b, &http.Transport{}, func(host string) string { return endpoints[host] })
	return b
}

func TestLoopback_fromWorkspaceToServer(t *testing.T) {
	b := onLoopback(t)
	groups, _, err := b.manager.ListResourceGroups(b.manager.NewListResourceGroupsOptions().SetName(sim.DefaultResourceGroup))
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(groups.Resources).To(HaveLen(1))
	id := *b.createInstance("demo", sim.DefaultZone, sim.PlanPower).GUID
	p := workspace{bench: b, id: id, auth: b.in(id)}
	soon := func(what any) AsyncAssertion { return b.Eventually(what).WithTimeout(time.Minute) }
	soon(func() any { return b.state(id) }).Should(Equal("active"))
	d, err := p.createDHCP(models.DHCPServerCreate{})
	b.Expect(err).NotTo(HaveOccurred())
	_, err = p.importImage(importOf("rhcos"))
	b.Expect(err).NotTo(HaveOccurred())
	soon(p.images).Should(HaveKeyWithValue("rhcos", "active"))
	body := request("node-1", *d.Network.ID)
	body.ImageID = &b.cloud.State()[sim.KindImage][0].ID
	server, err := p.createServer(body)
	b.Expect(err).NotTo(HaveOccurred())
	soon(func() []*models.DHCPServerLeases {
		detail, err := p.dhcp(*d.ID)
		b.Expect(err).NotTo(HaveOccurred())
		return detail.Leases
	}).Should(HaveLen(1))
	b.Expect(p.deleteServer(server)).To(Succeed())
	soon(p.listServers).Should(BeEmpty())
	b.Expect(p.deleteDHCP(*d.ID)).To(Succeed())
	soon(p.networks).Should(BeEmpty())
	b.Expect(b.remove(id, true)).To(Equal(http.StatusAccepted))
	soon(func() bool { return b.cloud.State().Empty() }).Should(BeTrue())
	b.Expect(b.cloud.Calls()).To(HaveKeyWithValue("iam.createToken", 1))
}

func TestLoopback_answersAreLostAndCallsHang(t *testing.T) {
	b := onLoopback(t)
	for _, kind := range []simulator.FaultKind{simulator.FaultLoseAnswer, simulator.FaultHang} {
		b.fault(simulator.Fault{Operation: "resourceController.createResourceInstance", Kind: kind})
		if kind == simulator.FaultHang { // no other call has to be answered in so short a time
			b.http.Timeout = time.Second
		}
		_, _, err := b.controller.CreateResourceInstanceWithContext(t.Context(), &resourcecontrollerv2.CreateResourceInstanceOptions{
			Name: (*string)(&kind), Target: new(sim.DefaultZone), ResourceGroup: new(sim.DefaultResourceGroupID), ResourcePlanID: new(sim.PlanPower),
		})
		b.Expect(err).To(HaveOccurred(), string(kind))
		b.http.Timeout = time.Minute
	}
	b.Expect(b.names(b.controller.NewListResourceInstancesOptions())).To(Equal([]string{"loseAnswer"}))
}
