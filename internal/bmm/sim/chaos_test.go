package sim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// try sends a request, and returns what came of it: a status, or "dropped".
func (b bench) try(method, path, body string) (outcome string) {
	defer func() {
		if recover() != nil {
			outcome = "dropped"
		}
	}()
	status, _ := b.call(method, path, body)
	return fmt.Sprint(status)
}

// outcomes are those of a hundred calls of each of two operations.
func (b bench) outcomes() []string {
	var all []string
	for range 100 {
		all = append(all, b.try("GET", base+"/site", ""), b.try("GET", base+"/vpc", ""))
	}
	return all
}

func TestChaos_isTheSameForTheSameSeed(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		run := func(seed uint64) []string {
			b.Expect(b.server.StartChaos(simulator.Chaos{Seed: seed, Rate: 0.2})).To(Succeed())
			return b.outcomes()
		}
		first := run(7)
		b.Expect(run(7)).To(Equal(first))
		b.Expect(run(8)).NotTo(Equal(first))
		b.Expect(first).To(ContainElements("200", "500", "503", "429", "dropped"))
		wrong := 0
		for _, outcome := range first {
			if outcome != "200" {
				wrong++
			}
		}
		b.Expect(wrong).To(BeNumerically("~", 40, 15), "a fifth of 200")

		b.server.StopChaos()
		b.Expect(b.outcomes()).To(HaveEach("200"))
	})
}

func TestChaos_hitsOnlyWhatItIsAskedTo(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.server.StartChaos(simulator.Chaos{
			Rate: 1, Kinds: []simulator.ChaosKind{simulator.Chaos503}, Operations: []string{"listSites"},
		})).To(Succeed())
		b.Expect(b.try("GET", base+"/site", "")).To(Equal("503"))
		b.Expect(b.try("GET", base+"/vpc", "")).To(Equal("200"))
	})
}

func TestChaos_holdsNoCallForLong(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for vpcs, kind := range []simulator.ChaosKind{simulator.ChaosHang, simulator.ChaosCommitLate} { // the first one makes none
			chaos := simulator.Chaos{Rate: 1, Kinds: []simulator.ChaosKind{kind}, Operations: []string{"createVpc"}}
			b.Expect(b.server.StartChaos(chaos)).To(Succeed())
			began := time.Now()
			b.Expect(b.try("POST", base+"/vpc", newVPCBody(b, nil))).To(Equal("dropped"))
			b.Expect(time.Since(began)).To(BeNumerically("~", 10*time.Second, time.Second))
			b.pass(30 * time.Second)
			b.Expect(b.server.State().VPCs).To(HaveLen(vpcs), string(kind))
		}
	})
}

func TestChaosAndOtherSwitches_canBeUsedOverHTTP(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		for _, row := range []struct {
			method, path, body string
			status             int
			says               string
		}{
			{"POST", "/simulator/chaos", `{"seed": 1, "rate": 0.5, "kinds": ["429"], "operations": ["createVpc"]}`, 204, ""},
			{"POST", "/simulator/chaos", `{"seed": 1, "rate": 2}`, 400, "rate"},
			{"POST", "/simulator/chaos", `{"seed": 1, "rate": 1, "kinds": ["flood"]}`, 400, "flood"},
			{"POST", "/simulator/chaos", `{"seed": 1, "rate": 1, "operations": ["paintVpc"]}`, 400, "paintVpc"},
			{"DELETE", "/simulator/chaos", "", 204, ""},
			{"POST", "/simulator/status", `{"id": "` + vpc.ID + `", "status": "Error", "message": "broken"}`, 204, ""},
			{"GET", base + "/vpc/" + vpc.ID, "", 200, `"status":"Error"`},
			{"POST", "/simulator/status", `{"id": "nobody", "status": "Error"}`, 400, "nobody"},
			{"POST", "/simulator/vanish", `{"id": "` + vpc.ID + `"}`, 204, ""},
			{"GET", base + "/vpc/" + vpc.ID, "", 404, ""},
			{"POST", "/simulator/vanish", `{"id": "` + vpc.ID + `"}`, 400, vpc.ID},
			{"POST", "/simulator/objects", `{"kind": "vpc", "request": {"name": "by-hand", "siteId": "` + sim.DefaultSiteID + `"}}`, 200, `"id":`},
			{"GET", base + "/vpc", "", 200, "by-hand"},
			{"POST", "/simulator/objects", `{"kind": "vpc", "request": {"nam": "x"}}`, 400, "nam"},
			{"POST", "/simulator/objects", `{"kind": "moon"}`, 400, "moon"},
			{"POST", "/simulator/sites", `{"id": "` + sim.DefaultSiteID + `", "state": "Offline"}`, 204, ""},
			{"GET", base + "/site", "", 200, `"status":"Error"`},
			{"POST", "/simulator/sites", `{"id": "` + sim.DefaultSiteID + `", "state": "Sunny"}`, 400, "Sunny"},
			{"DELETE", "/simulator/tokens", "", 204, ""},
			{"GET", base + "/site", "", 401, "expired"},
			{"POST", "/simulator/tokens", `["` + sim.DefaultToken + `"]`, 204, ""},
			{"GET", base + "/site", "", 200, ""},
		} {
			status, body := b.call(row.method, row.path, row.body)
			b.Expect(status).To(Equal(row.status), "%s %s: %s", row.path, row.body, body)
			b.Expect(body).To(ContainSubstring(row.says))
		}
	})
}

func TestTheSwitches_areForLoopbackClientsOnly(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		r := httptest.NewRequest(http.MethodDelete, "/simulator/tokens", nil)
		r.RemoteAddr = "192.0.2.1:4711"
		w := httptest.NewRecorder()
		b.server.ServeHTTP(w, r)
		b.Expect(w.Code).To(Equal(http.StatusForbidden))
		_, err := b.client.Tenant(b.t.Context())
		b.Expect(err).NotTo(HaveOccurred())
	})
}

func TestAForcedStatus_lastsUntilItIsTakenBack(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		b.pass(15 * time.Minute)
		for _, status := range []string{"Repairing", "Updating", "Configuring", "Error", "Unknown"} {
			b.Expect(b.server.SetStatus(sim.Status{ID: instance.ID, Status: status, Message: "because"})).To(Succeed())
			seen, err := b.client.Instance(b.t.Context(), sim.DefaultSiteID, instance.ID)
			b.Expect(err).NotTo(HaveOccurred())
			b.Expect(string(seen.Status)).To(Equal(status))
			b.Expect(seen.StatusHistory[0].Message).To(Equal("because"))
		}
		b.Expect(b.server.SetStatus(sim.Status{ID: instance.ID})).To(Succeed())
		b.Expect(b.status("instance", instance.ID)).To(Equal("Ready"))

		b.Expect(b.server.SetStatus(sim.Status{ID: instance.MachineID, Status: "Error", Message: "no fan"})).To(Succeed())
		b.Expect(b.status("machine", instance.MachineID)).To(Equal("Error"))
	})
}

func TestAVanishedInstance_isGoneWithItsMachineOff(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		b.pass(15 * time.Minute)
		b.Expect(b.server.Vanish(instance.ID)).To(Succeed())
		b.Expect(b.status("instance", instance.ID)).To(Equal("gone"))
		b.Expect(b.rack.events()).To(Equal([]string{"on node-1", "off node-1"}))
		b.Expect(b.status("machine", instance.MachineID)).To(Equal("Ready"))
	})
}

func TestASiteWithoutItsAgent_blocksAndRollsBack(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populate(b)
		b.pass(time.Minute)
		b.Expect(b.server.SetSite(sim.DefaultSiteID, sim.SiteAgentDown)).To(Succeed())
		before := b.server.State()
		for name, row := range map[string]refusal{
			"create":  {"POST", "/vpc", newVPCBody(b, nil), 500, "timeout occurred"},
			"change":  {"PATCH", "/vpc/" + w.vpc.ID, `{"name": "changed"}`, 500, "timeout occurred"},
			"delete":  {"DELETE", "/instance/" + w.instance.ID, "", 500, "timeout occurred"},
			"peering": {"POST", "/vpc-peering", with(b, peer(w.vpc.ID, w.other.VPCID), nil), 500, "timeout occurred"},
		} {
			began := time.Now()
			b.expectRefusals(map[string]refusal{name: row})
			b.Expect(time.Since(began)).To(BeNumerically("~", 50*time.Second, time.Second), name)
		}
		after := b.server.State()
		b.Expect(after.VPCs).To(Equal(before.VPCs))
		b.Expect(after.Instances).To(HaveLen(len(before.Instances)))
		b.Expect(b.status("site", sim.DefaultSiteID)).To(Equal("Registered"), "it isn't noticed")

		b.Expect(b.server.SetSite(sim.DefaultSiteID, sim.SiteOffline)).To(Succeed())
		b.Expect(b.status("site", sim.DefaultSiteID)).To(Equal("Error"))
		b.expectRefusals(map[string]refusal{
			"create":             {"POST", "/vpc", newVPCBody(b, nil), 400, "Registered state"},
			"create in what was": {"POST", "/subnet", w.newSubnet(b, nil), 400, "Registered state"},
		})
		b.Expect(b.server.SetSite(sim.DefaultSiteID, sim.SiteOnline)).To(Succeed())
		answer[nothing](b, 201, "POST", "/subnet", json.RawMessage(w.newSubnet(b, nil)))
	})
}

func TestWhatIsTheWorlds_isNotWhatClientsLeave(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet, err := b.server.Make(sim.Object{Kind: sim.KindSubnet, Request: client.SubnetCreateRequest{
			Name: "by-hand", VPCID: neighbourVPC, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 24,
		}})
		b.Expect(err).To(MatchError(ContainSubstring("not owned")), "the rules are those of the API")
		b.Expect(subnet).To(BeEmpty())
		vpc, err := b.server.Make(sim.Object{Kind: sim.KindVPC, Request: client.VPCCreateRequest{Name: "ours", SiteID: sim.DefaultSiteID}})
		b.Expect(err).NotTo(HaveOccurred())
		subnet, err = b.server.Make(sim.Object{Kind: sim.KindSubnet, Request: client.SubnetCreateRequest{
			Name: "by-hand", VPCID: vpc, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 24,
		}})
		b.Expect(err).NotTo(HaveOccurred())
		instance, err := b.server.Make(sim.Object{Kind: sim.KindInstance, Request: client.InstanceCreateRequest{
			Name: "by-hand", VPCID: vpc, InstanceTypeID: sim.DefaultInstanceTypeID, IpxeScript: "#!ipxe",
			Interfaces: []client.InterfaceCreateRequest{{SubnetID: subnet}},
		}})
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(b.status("instance", instance)).To(Equal("Ready"), "at once")
		b.pass(time.Second)
		b.Expect(b.rack.running()).To(HaveLen(1))
		state := b.server.State()
		b.Expect(state.World).To(ConsistOf(neighbourVPC, vpc, subnet, instance, sim.DefaultIPBlockID, neighbourBlock))
		b.Expect(state.Empty()).To(BeTrue())
		data, err := json.Marshal(state)
		b.Expect(err).NotTo(HaveOccurred())
		var read sim.State
		b.Expect(json.Unmarshal(data, &read)).To(Succeed())
		b.Expect(read.Empty()).To(BeTrue())

		b.vpc("net")
		b.Expect(b.server.State().Empty()).To(BeFalse())
	}, withNeighbour)
}
