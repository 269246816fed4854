package sim_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/IBM-Cloud/power-go-client/power/models"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestServer_hasItsAddressFromTheDHCPServer(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		d, err := p.createDHCP(models.DHCPServerCreate{Name: ptr.To("demo")})
		p.Expect(err).NotTo(HaveOccurred())
		id, err := p.createServer(request("node-1", *d.Network.ID))
		p.Expect(err).NotTo(HaveOccurred())
		s, err := p.server(id)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect([]any{*s.Status, s.Health.Status, *s.ServerName}).To(Equal([]any{"BUILD", "PENDING", "node-1"}))
		p.Expect(s.UserTags).To(Equal(models.Tags{"bedplate:owner"}))
		p.Expect(s.Networks).To(HaveLen(1))
		p.Expect(s.Networks[0].MacAddress).To(HavePrefix("fa:"))
		p.Expect(s.Networks[0].IPAddress).To(BeEmpty())
		leases := func() []*models.DHCPServerLeases {
			detail, err := p.dhcp(*d.ID)
			p.Expect(err).NotTo(HaveOccurred())
			return detail.Leases
		}
		p.pass(4 * time.Minute)
		s, err = p.server(id)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect([]any{*s.Status, s.Health.Status}).To(Equal([]any{"ACTIVE", "OK"}))
		p.Expect(s.Networks[0].IPAddress).To(BeEmpty())
		p.Expect(leases()).To(BeEmpty())
		p.pass(time.Minute)
		p.Expect(leases()).To(HaveLen(1))
		p.Expect(*leases()[0].InstanceIP).To(Equal("192.168.0.3"))
		p.Expect(*leases()[0].InstanceMacAddress).To(Equal(s.Networks[0].MacAddress))

		p.Expect(status(p.deleteDHCP(*d.ID))).To(Equal(http.StatusBadRequest), "a server is in its network")
		p.Expect(p.deleteServer(id)).To(Succeed())
		s, err = p.server(id)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(s.TaskState).To(Equal("deleting"))
		p.pass(time.Minute)
		_, err = p.server(id)
		p.Expect(status(err)).To(Equal(http.StatusNotFound))
		p.Expect(status(p.deleteServer(id))).To(Equal(http.StatusNotFound))
		p.Expect(leases()).To(BeEmpty())
		p.Expect(p.deleteDHCP(*d.ID)).To(Succeed())
		p.pass(3 * time.Minute)
		p.Expect(p.cloud.State().Empty()).To(BeTrue())
	})
}

func TestServer_showsItsLease(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		d, err := p.createDHCP(models.DHCPServerCreate{})
		p.Expect(err).NotTo(HaveOccurred())
		_, err = p.createServer(request("node-1", *d.Network.ID))
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(p.listServers()[0].Networks[0].IPAddress).To(BeEmpty())
		p.pass(4 * time.Minute)
		p.Expect(p.listServers()[0].Networks[0].IPAddress).To(Equal("192.168.0.3"))
	}, func(c *sim.Config) { c.ShowLeases = true })
}

func TestServer_hasAnAddressInOtherNetworksAtOnce(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		wanted := request("node-1", "net-1")
		wanted.Networks[0].IPAddress = "10.0.0.5"
		_, err := p.createServer(wanted)
		p.Expect(err).NotTo(HaveOccurred())
		for _, name := range []string{"node-2", "node-3", "node-4"} { // .0 to .2 and .7 aren't for servers
			_, err = p.createServer(request(name, "net-1"))
			p.Expect(err).NotTo(HaveOccurred())
		}
		var addresses []string
		for _, s := range p.listServers() {
			addresses = append(addresses, s.Networks[0].IPAddress)
		}
		p.Expect(addresses).To(Equal([]string{"10.0.0.5", "10.0.0.3", "10.0.0.4", "10.0.0.6"}))
		_, err = p.createServer(request("node-5", "net-1"))
		p.Expect(err).To(MatchError(ContainSubstring("has no free address")))
		n, err := p.network("net-1")
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect([]float64{*n.IPAddressMetrics.Total, *n.IPAddressMetrics.Used}).To(Equal([]float64{4, 4}))
		p.Expect(*n.IPAddressRanges[0].EndingIPAddress).To(Equal("10.0.0.6"))
	})
}

func TestServer_fails(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		p.Expect(p.cloud.SetOutcome(sim.Outcome{Kind: sim.KindServer, Status: "ERROR", Message: "no valid host was found"})).To(Succeed())
		id, err := p.createServer(request("node-1", "net-1"))
		p.Expect(err).NotTo(HaveOccurred())
		p.pass(4 * time.Minute)
		s, err := p.server(id)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect([]any{*s.Status, s.Health.Status, s.Fault.Message}).To(Equal([]any{"ERROR", "CRITICAL", "no valid host was found"}))

		p.Expect(p.cloud.SetStatus(sim.Status{ID: id, Status: "SHUTOFF"})).To(Succeed())
		s, err = p.server(id)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(*s.Status).To(Equal("SHUTOFF"))
		p.Expect(p.cloud.Vanish(id)).To(Succeed())
		_, err = p.server(id)
		p.Expect(status(err)).To(Equal(http.StatusNotFound))
	})
}

func TestServers_thatAreRefused(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		_, err := p.createServer(request("taken", "net-1"))
		p.Expect(err).NotTo(HaveOccurred())
		for what, row := range map[string]struct {
			change func(r *models.PVMInstanceCreate)
			status int
		}{
			"a name that is taken":     {func(r *models.PVMInstanceCreate) { r.ServerName = ptr.To("taken") }, 409},
			"a name with a space":      {func(r *models.PVMInstanceCreate) { r.ServerName = ptr.To("a b") }, 400},
			"a long name":              {func(r *models.PVMInstanceCreate) { r.ServerName = ptr.To(strings.Repeat("a", 48)) }, 400},
			"an unknown image":         {func(r *models.PVMInstanceCreate) { r.ImageID = ptr.To("none") }, 404},
			"an unknown network":       {func(r *models.PVMInstanceCreate) { r.Networks[0].NetworkID = ptr.To("none") }, 404},
			"no network":               {func(r *models.PVMInstanceCreate) { r.Networks = nil }, 400},
			"a network twice":          {func(r *models.PVMInstanceCreate) { r.Networks = append(r.Networks, r.Networks[0]) }, 400},
			"an address elsewhere":     {func(r *models.PVMInstanceCreate) { r.Networks[0].IPAddress = "10.0.1.5" }, 400},
			"an unknown SSH key":       {func(r *models.PVMInstanceCreate) { r.KeyPairName = "none" }, 404},
			"an unknown system":        {func(r *models.PVMInstanceCreate) { r.SysType = "z16" }, 400},
			"an unknown kind of cores": {func(r *models.PVMInstanceCreate) { r.ProcType = ptr.To("spare") }, 400},
			"half a dedicated core": {func(r *models.PVMInstanceCreate) {
				r.ProcType, r.Processors = ptr.To("dedicated"), ptr.To(1.5)
			}, 400},
			"a third of a core": {func(r *models.PVMInstanceCreate) { r.Processors = ptr.To(0.33) }, 400},
			"too little memory": {func(r *models.PVMInstanceCreate) { r.Memory = ptr.To(1.0) }, 400},
			"plain user data":   {func(r *models.PVMInstanceCreate) { r.UserData = "#cloud-config" }, 400},
			"too much user data": {func(r *models.PVMInstanceCreate) {
				r.UserData = base64.StdEncoding.EncodeToString(make([]byte, 64<<10))
			}, 400},
			"a tag with a slash":     {func(r *models.PVMInstanceCreate) { r.UserTags = models.Tags{"a/b"} }, 400},
			"more than the quota":    {func(r *models.PVMInstanceCreate) { r.Processors = ptr.To(100.0) }, 422},
			"more memory than there": {func(r *models.PVMInstanceCreate) { r.Memory = ptr.To(2000.0) }, 422},
		} {
			body := request("node", "net-1")
			row.change(&body)
			_, err := p.createServer(body)
			p.Expect(status(err)).To(Equal(row.status), what)
		}
		p.Expect(p.listServers()).To(HaveLen(1))
	})
}
