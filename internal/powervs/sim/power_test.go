package sim_test

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"github.com/IBM-Cloud/power-go-client/power/client/datacenters"
	"github.com/IBM-Cloud/power-go-client/power/client/p_cloud_networks"
	"github.com/IBM-Cloud/power-go-client/power/client/p_cloud_p_vm_instances"
	dhcp "github.com/IBM-Cloud/power-go-client/power/client/p_cloud_service_d_h_c_p"
	"github.com/IBM-Cloud/power-go-client/power/client/p_cloud_system_pools"
	"github.com/IBM-Cloud/power-go-client/power/models"
	"github.com/go-openapi/runtime"
	"github.com/go-openapi/strfmt"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// valid checks that an answer has all that IBM's description of the API says it has.
func (b bench) valid(answer interface{ Validate(strfmt.Registry) error }) {
	b.t.Helper()
	b.Expect(answer.Validate(strfmt.Default)).To(Succeed())
}

// workspace is one with an image that can be booted.
type workspace struct {
	bench
	id   string
	auth runtime.ClientAuthInfoWriter
}

const bootImage = "b007b007-0000-4000-8000-000000000001"

// inWorkspace runs a test in a workspace that is there from the beginning.
func inWorkspace(t *testing.T, test func(p workspace), changes ...func(*sim.Config)) {
	t.Helper()
	const id = "3a0b0000-0000-4000-8000-000000000001"
	existing := func(c *sim.Config) {
		c.Instances = []sim.Instance{{
			ID: id, Name: "existing", Plan: sim.PlanPower, Target: sim.DefaultZone,
			Networks: []sim.Network{{ID: "net-1", Name: "by-hand", CIDR: "10.0.0.0/29"}},
			Images:   []sim.Image{{ID: bootImage, Name: "centos"}},
		}}
	}
	inSimulatedTime(t, func(b bench) { test(workspace{bench: b, id: id, auth: b.in(id)}) },
		append([]func(*sim.Config){existing}, changes...)...)
}

func (p workspace) createDHCP(body models.DHCPServerCreate) (*models.DHCPServer, error) {
	answer, err := p.power.PCloudServicedhcp.PcloudDhcpPost(
		dhcp.NewPcloudDhcpPostParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithBody(&body), p.auth)
	if err != nil {
		return nil, err
	}
	p.valid(answer.Payload)
	return answer.Payload, nil
}

func (p workspace) dhcp(id string) (*models.DHCPServerDetail, error) {
	answer, err := p.power.PCloudServicedhcp.PcloudDhcpGet(
		dhcp.NewPcloudDhcpGetParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithDhcpID(id), p.auth)
	if err != nil {
		return nil, err
	}
	p.valid(answer.Payload)
	return answer.Payload, nil
}

func (p workspace) deleteDHCP(id string) error {
	_, err := p.power.PCloudServicedhcp.PcloudDhcpDelete(
		dhcp.NewPcloudDhcpDeleteParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithDhcpID(id), p.auth)
	return err
}

func (p workspace) listDHCP() models.DHCPServers {
	answer, err := p.power.PCloudServicedhcp.PcloudDhcpGetall(
		dhcp.NewPcloudDhcpGetallParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id), p.auth)
	p.Expect(err).NotTo(HaveOccurred())
	p.valid(answer.Payload)
	return answer.Payload
}

func (p workspace) networks() (names []string) {
	answer, err := p.power.PCloudNetworks.PcloudNetworksGetall(
		p_cloud_networks.NewPcloudNetworksGetallParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id), p.auth)
	p.Expect(err).NotTo(HaveOccurred())
	p.valid(answer.Payload)
	for _, n := range answer.Payload.Networks {
		names = append(names, *n.Name)
	}
	return names
}

func (p workspace) network(id string) (*models.Network, error) {
	answer, err := p.power.PCloudNetworks.PcloudNetworksGet(
		p_cloud_networks.NewPcloudNetworksGetParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithNetworkID(id), p.auth)
	if err != nil {
		return nil, err
	}
	p.valid(answer.Payload)
	return answer.Payload, nil
}

// request asks for a server in a network.
func request(name, network string) models.PVMInstanceCreate {
	return models.PVMInstanceCreate{
		ServerName: &name, ImageID: ptr.To(bootImage), Memory: ptr.To(4.0), Processors: ptr.To(0.25), ProcType: ptr.To("shared"),
		SysType: "s1022", KeyPairName: sim.DefaultSSHKey, UserData: base64.StdEncoding.EncodeToString([]byte("#cloud-config")),
		UserTags: models.Tags{"bedplate:owner"}, Networks: []*models.PVMInstanceAddNetwork{{NetworkID: &network}},
	}
}

func (p workspace) createServer(body models.PVMInstanceCreate) (string, error) {
	_, _, answer, err := p.power.PCloudpVMInstances.PcloudPvminstancesPost(p_cloud_p_vm_instances.NewPcloudPvminstancesPostParams().
		WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithBody(&body), p.auth)
	if err != nil {
		return "", err
	}
	p.Expect(answer.Payload).To(HaveLen(1))
	p.valid(answer.Payload[0])
	return *answer.Payload[0].PvmInstanceID, nil
}

func (p workspace) server(id string) (*models.PVMInstance, error) {
	answer, err := p.power.PCloudpVMInstances.PcloudPvminstancesGet(p_cloud_p_vm_instances.NewPcloudPvminstancesGetParams().
		WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithPvmInstanceID(id), p.auth)
	if err != nil {
		return nil, err
	}
	p.valid(answer.Payload)
	return answer.Payload, nil
}

func (p workspace) deleteServer(id string) error {
	_, err := p.power.PCloudpVMInstances.PcloudPvminstancesDelete(p_cloud_p_vm_instances.NewPcloudPvminstancesDeleteParams().
		WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithPvmInstanceID(id), p.auth)
	return err
}

func (p workspace) listServers() []*models.PVMInstanceReference {
	answer, err := p.power.PCloudpVMInstances.PcloudPvminstancesGetall(p_cloud_p_vm_instances.NewPcloudPvminstancesGetallParams().
		WithContext(p.t.Context()).WithCloudInstanceID(p.id), p.auth)
	p.Expect(err).NotTo(HaveOccurred())
	p.valid(answer.Payload)
	return answer.Payload.PvmInstances
}

func TestDatacenters_haveCapabilities(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		get := func(zone string) (*models.Datacenter, error) {
			answer, err := b.power.Datacenters.V1DatacentersGet(
				datacenters.NewV1DatacentersGetParams().WithContext(b.t.Context()).WithDatacenterRegion(zone))
			if err != nil {
				return nil, err
			}
			b.valid(answer.Payload)
			return answer.Payload, nil
		}
		here, err := get(sim.DefaultZone)
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(here.Capabilities[sim.EdgeRouter]).To(BeTrue())
		b.Expect(here.CapabilitiesDetails.SupportedSystems.General).To(ContainElement("s1022"))
		there, err := get("osa21")
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(there.Capabilities[sim.EdgeRouter]).To(BeFalse())
		_, err = get("mars1")
		b.Expect(status(err)).To(Equal(http.StatusBadRequest))
		all, err := b.power.Datacenters.V1DatacentersGetall(datacenters.NewV1DatacentersGetallParams().WithContext(b.t.Context()))
		b.Expect(err).NotTo(HaveOccurred())
		b.valid(all.Payload)
		b.Expect(all.Payload.Datacenters).To(HaveLen(3))
		b.Expect(b.cloud.Calls()).NotTo(HaveKey("iam.createToken"))
	})
}

func TestWorkspace_isUsedOnlyWhileItIsActive(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := *b.createInstance("demo", sim.DefaultZone, sim.PlanPower).GUID
		p := workspace{bench: b, id: id, auth: b.in(id)}
		_, err := p.createDHCP(models.DHCPServerCreate{})
		b.Expect(status(err)).To(Equal(http.StatusNotFound))
		b.Expect(err).To(MatchError(ContainSubstring("its state is provisioning")))
		b.pass(20 * time.Second)
		d, err := p.createDHCP(models.DHCPServerCreate{})
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(b.remove(id, false)).To(Equal(http.StatusBadRequest), "it has a DHCP server")
		b.Expect(p.deleteDHCP(*d.ID)).To(Succeed())
		b.pass(3 * time.Minute)
		b.Expect(b.remove(id, false)).To(Equal(http.StatusAccepted))
		b.pass(20 * time.Second)
		_, err = p.createDHCP(models.DHCPServerCreate{})
		b.Expect(status(err)).To(Equal(http.StatusNotFound))
		b.Expect(b.cloud.State().Empty()).To(BeTrue())
	})
}

func TestWorkspace_isNamedByTheCRNHeader(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		other := p.newWorkspace("other")
		for crn, want := range map[string]int{"": 400, "crn:v1:bluemix:public:power-iaas:dal10:a/x:" + p.id + "::": 403} {
			p.auth = p.as(crn)
			_, err := p.createDHCP(models.DHCPServerCreate{})
			p.Expect(status(err)).To(Equal(want), crn)
		}
		p.auth = p.in(other)
		_, err := p.createDHCP(models.DHCPServerCreate{})
		p.Expect(status(err)).To(Equal(403))
		p.id = "none"
		_, err = p.createDHCP(models.DHCPServerCreate{})
		p.Expect(status(err)).To(Equal(404))
	})
}

func TestSystemPools_areThoseOfTheZone(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		answer, err := p.power.PCloudSystemPools.PcloudSystempoolsGet(
			p_cloud_system_pools.NewPcloudSystempoolsGetParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id), p.auth)
		p.Expect(err).NotTo(HaveOccurred())
		p.valid(answer.Payload)
		p.Expect(answer.Payload).To(And(HaveKey("s1022"), HaveLen(5)))
	})
}

func TestDHCPServer_makesItsNetwork(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		made, err := p.createDHCP(models.DHCPServerCreate{Name: ptr.To("demo"), SnatEnabled: ptr.To(true)})
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(*made.Status).To(Equal("BUILD"))
		p.Expect(*made.Network.Name).To(Equal("DHCPSERVERdemo_Private"))
		p.Expect(p.networks()).To(Equal([]string{"by-hand", "DHCPSERVERdemo_Private"}))
		n, err := p.network(*made.Network.ID)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect([]any{*n.Cidr, n.Gateway, n.DNSServers}).To(Equal([]any{"192.168.0.0/24", "192.168.0.1", []string{"1.1.1.1"}}))
		p.pass(8 * time.Minute)
		d, err := p.dhcp(*made.ID)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(*d.Status).To(Equal("ACTIVE"))
		p.Expect(d.Leases).To(BeEmpty())

		p.Expect(p.deleteDHCP(*made.ID)).To(Succeed())
		p.Expect(p.listDHCP()).To(HaveLen(1), "for a while")
		p.pass(3 * time.Minute)
		_, err = p.dhcp(*made.ID)
		p.Expect(status(err)).To(Equal(http.StatusNotFound))
		p.Expect(status(p.deleteDHCP(*made.ID))).To(Equal(http.StatusNotFound))
		p.Expect(p.networks()).To(Equal([]string{"by-hand"}))
		_, err = p.network(*made.Network.ID)
		p.Expect(status(err)).To(Equal(http.StatusNotFound))
		p.Expect(p.cloud.State().Empty()).To(BeTrue())
	})
}

func TestDHCPServer_isRefused(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		for what, body := range map[string]models.DHCPServerCreate{
			"a name with a dot":    {Name: ptr.To("a.b")},
			"no CIDR":              {Cidr: ptr.To("10.1.0.0")},
			"a CIDR with a host":   {Cidr: ptr.To("10.1.0.1/24")},
			"a CIDR too small":     {Cidr: ptr.To("10.1.0.0/30")},
			"a CIDR that overlaps": {Cidr: ptr.To("10.0.0.0/16")},
			"no address for DNS":   {DNSServer: ptr.To("dns")},
		} {
			_, err := p.createDHCP(body)
			p.Expect(status(err)).To(Equal(http.StatusBadRequest), what)
		}
		first, err := p.createDHCP(models.DHCPServerCreate{})
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(*first.Network.Name).To(Equal("DHCPSERVER" + *first.ID + "_Private"))
		_, err = p.createDHCP(models.DHCPServerCreate{Name: ptr.To("second")})
		p.Expect(err).To(MatchError(ContainSubstring("limit of 1 DHCP servers")))
	})
}

// Issue 1745 of the existing provider.
func TestDHCPServer_existsThoughTheAnswerWasAnError(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		p.fault(simulator.Fault{
			Operation: "power.createDHCPServer", Kind: simulator.FaultStatusAfter, Status: 500,
			Message: "dhcp server failed to create private network: unable to retrieve active status for new PER connection information",
		})
		_, err := p.createDHCP(models.DHCPServerCreate{Name: ptr.To("demo")})
		p.Expect(status(err)).To(Equal(http.StatusInternalServerError))
		p.Expect(err).To(MatchError(ContainSubstring("failed to create private network")))
		p.Expect(p.networks()).To(ContainElement("DHCPSERVERdemo_Private"))
		p.pass(8 * time.Minute)
		p.Expect(*p.listDHCP()[0].Status).To(Equal("ACTIVE"))
	})
}

func TestDHCPServer_fails(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		p.Expect(p.cloud.SetOutcome(sim.Outcome{Kind: sim.KindDHCPServer, Status: "ERROR"})).To(Succeed())
		made, err := p.createDHCP(models.DHCPServerCreate{})
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(*made.Status).To(Equal("BUILD"))
		p.pass(8 * time.Minute)
		d, err := p.dhcp(*made.ID)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(*d.Status).To(Equal("ERROR"))
		p.Expect(p.deleteDHCP(*made.ID)).To(Succeed())
	})
}

func TestCalls_failInOtherWays(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		create := func(kind simulator.FaultKind, status int) error {
			p.fault(simulator.Fault{Operation: "power.createDHCPServer", Kind: kind, Status: status, Message: "slow down"})
			_, err := p.createDHCP(models.DHCPServerCreate{})
			return err
		}
		p.Expect(status(create(simulator.FaultStatus, 429))).To(Equal(429), "which the SDK has no type for")
		p.Expect(p.listDHCP()).To(BeEmpty())
		p.Expect(create(simulator.FaultLoseAnswer, 0)).To(MatchError(ContainSubstring("connection dropped")))
		p.Expect(p.listDHCP()).To(HaveLen(1))
		p.cloud.ExpireTokens()
		_, err := p.createDHCP(models.DHCPServerCreate{})
		p.Expect(status(err)).To(Equal(http.StatusUnauthorized))
	})
}
