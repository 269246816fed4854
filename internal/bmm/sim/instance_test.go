package sim_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const (
	fabricID   = "1fab0000-0000-4000-8000-000000000001"
	gpuGroupID = "9b000000-0000-4000-8000-000000000001"
	firewallID = "d9000000-0000-4000-8000-000000000001"
)

// withGPUs is a world whose machines have what large ones have.
func withGPUs(c *sim.Config) {
	c.Sites[0].NVLinkPartition, c.Sites[0].NativeNetworking = true, true
	c.InstanceTypes[0].Capabilities = append(c.InstanceTypes[0].Capabilities,
		api.MachineCapability{Type: api.MachineCapabilityTypeGPU, Name: "GB200", Count: 4, DeviceType: api.MachineCapabilityDeviceTypeNVLink},
		api.MachineCapability{Type: api.MachineCapabilityTypeInfiniBand, Name: "MT2910", Count: 2})
	c.InfiniBandPartitions = []sim.Partition{{ID: fabricID, Name: "fabric", SiteID: sim.DefaultSiteID}}
	c.NVLinkLogicalPartitions = []sim.Partition{{ID: gpuGroupID, Name: "gpus", SiteID: sim.DefaultSiteID}}
	c.DPUExtensionServices = []sim.DPUExtensionService{
		{ID: firewallID, Name: "firewall", SiteID: sim.DefaultSiteID, Versions: []string{"1.0", "1.1"}},
	}
}

func TestDevices_mustBeAmongTheMachines(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		prefix := b.prefix(vpc, "nodes", 24)
		nic := func(changes fields) fields {
			r := fields{"vpcPrefixId": prefix.ID, "isPhysical": true, "device": sim.DefaultDPU, "deviceInstance": 0}
			for name, value := range changes {
				r[name] = value
			}
			return r
		}
		card := func(changes fields) fields {
			r := fields{"partitionId": fabricID, "device": "MT2910", "deviceInstance": 0, "isPhysical": true}
			for name, value := range changes {
				r[name] = value
			}
			return fields{"infinibandInterfaces": []fields{r}}
		}
		gpus := func(partition string, numbers ...int) fields {
			links := []fields{}
			for _, n := range numbers {
				links = append(links, fields{"nvLinkLogicalPartitionId": partition, "deviceInstance": n})
			}
			return fields{"nvLinkInterfaces": links}
		}
		service := func(id, version string) fields {
			return fields{"dpuExtensionServiceDeployments": []fields{{"dpuExtensionServiceId": id, "version": version}}}
		}
		physical := fields{"vpcPrefixId": prefix.ID, "isPhysical": true}
		refused := func(changes fields, nics ...fields) string {
			if len(nics) == 0 {
				nics = []fields{nic(nil)}
			}
			return with(b, fnnInstance("node-1", vpc, nics...), changes)
		}
		virtual := fields{"isPhysical": false, "virtualFunctionId": 3}
		b.expectRefusals(map[string]refusal{
			"unknown device":             {"POST", "/instance", refused(nil, nic(fields{"device": "card"})), 400, "not among the Machine Capabilities"},
			"third of two":               {"POST", "/instance", refused(nil, nic(fields{"deviceInstance": 2})), 400, "exceeds"},
			"device twice":               {"POST", "/instance", refused(nil, nic(nil), nic(nil)), 400, "more than one Interface"},
			"function twice":             {"POST", "/instance", refused(nil, nic(nil), nic(virtual), nic(virtual)), 400, "more than one Interface"},
			"function too high":          {"POST", "/instance", refused(nil, nic(fields{"virtualFunctionId": 17})), 400, "virtualFunctionId"},
			"neither kind":               {"POST", "/instance", refused(nil, nic(fields{"isPhysical": false})), 400, "virtualFunctionId"},
			"device, no number":          {"POST", "/instance", refused(nil, fields{"vpcPrefixId": prefix.ID, "device": "x"}), 400, "deviceInstance"},
			"number, no device":          {"POST", "/instance", refused(nil, fields{"vpcPrefixId": prefix.ID, "deviceInstance": 0}), 400, "`device` must be"},
			"only one with device":       {"POST", "/instance", refused(nil, nic(nil), fields{"vpcPrefixId": prefix.ID}), 400, "all or none"},
			"two physical":               {"POST", "/instance", refused(nil, physical, physical), 400, "only one of the Interfaces can be physical"},
			"InfiniBand, virtual":        {"POST", "/instance", refused(card(fields{"isPhysical": false})), 400, "isPhysical"},
			"InfiniBand, unknown device": {"POST", "/instance", refused(card(fields{"device": "x"})), 400, "not among"},
			"InfiniBand, third of two":   {"POST", "/instance", refused(card(fields{"deviceInstance": 2})), 400, "exceeds"},
			"InfiniBand, no partition":   {"POST", "/instance", refused(card(fields{"partitionId": unknown})), 400, "InfiniBand Partition"},
			"NVLink, no partition":       {"POST", "/instance", refused(gpus(unknown, 0)), 400, "NVLink Logical Partition"},
			"NVLink, fifth of four":      {"POST", "/instance", refused(gpus(gpuGroupID, 4)), 400, "deviceInstance"},
			"NVLink, the same twice":     {"POST", "/instance", refused(gpus(gpuGroupID, 1, 1)), 400, "more than one NVLink"},
			"service that isn't there":   {"POST", "/instance", refused(service(unknown, "1.0")), 400, "DPU Extension Service"},
			"version that isn't there":   {"POST", "/instance", refused(service(firewallID, "2.0")), 400, "Version: 2.0"},
		})

		request := fnnInstance("node-1", vpc, nic(nil), nic(virtual))
		for _, part := range []fields{card(nil), gpus(gpuGroupID, 0, 3), service(firewallID, "1.0")} {
			for name, value := range part {
				request[name] = value
			}
		}
		instance := answer[api.Instance](b, 201, "POST", "/instance", request)
		b.pass(15 * time.Minute)
		instance = answer[api.Instance](b, 200, "GET", "/instance/"+instance.ID, nil)
		b.Expect(instance.Interfaces).To(HaveLen(2))
		b.Expect(instance.Interfaces[1].VirtualFunctionID).To(Equal(3))
		b.Expect(instance.InfiniBandInterfaces[0].Status).To(Equal("Ready"))
		b.Expect(instance.NVLinkInterfaces).To(HaveLen(2))
		b.Expect(instance.NVLinkInterfaces[1].NVLinkLogicalPartitionID).To(Equal(gpuGroupID))
		b.Expect(instance.DPUExtensionServiceDeployments[0].DPUExtensionService.LatestVersion).To(Equal("1.1"))
	}, withGPUs)
}

func TestThePartitionOfAVPC_isThatOfItsGPUs(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		answer[nothing](b, 200, "PATCH", "/vpc/"+vpc.ID, fields{"nvLinkLogicalPartitionId": gpuGroupID})
		nic := fields{"vpcPrefixId": b.prefix(vpc, "nodes", 24).ID}
		instance := answer[api.Instance](b, 201, "POST", "/instance", fnnInstance("node-1", vpc, nic))
		b.Expect(instance.NVLinkInterfaces).To(HaveLen(4))
		request := fnnInstance("node-2", vpc, nic)
		request["nvLinkInterfaces"] = []fields{{"nvLinkLogicalPartitionId": fabricID, "deviceInstance": 0}}
		b.expectRefusals(map[string]refusal{"another partition": {"POST", "/instance", with(b, request, nil), 400, "NVLink Logical Partition"}})
		b.expectRefusals(map[string]refusal{
			"unknown partition": {"PATCH", "/vpc/" + vpc.ID, with(b, fields{"nvLinkLogicalPartitionId": unknown}, nil), 400, "NVLink Logical Partition"},
		})
	}, withGPUs)
}

func TestMachinesWithoutDevices_refuseThem(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populate(b)
		card := []fields{{"partitionId": fabricID, "device": "MT2910", "deviceInstance": 0, "isPhysical": true}}
		gpu := []fields{{"nvLinkLogicalPartitionId": gpuGroupID, "deviceInstance": 0}}
		device := []fields{{"subnetId": w.subnet.ID, "device": "x", "deviceInstance": 0}}
		b.expectRefusals(map[string]refusal{
			"InfiniBand":       {"POST", "/instance", w.newInstance(b, fields{"infinibandInterfaces": card}), 400, "doesn't have InfiniBand Capability"},
			"NVLink":           {"POST", "/instance", w.newInstance(b, fields{"nvLinkInterfaces": gpu}), 400, "doesn't have GPU Capability"},
			"NVLink of a VPC":  {"POST", "/vpc", newVPCBody(b, fields{"nvLinkLogicalPartitionId": gpuGroupID}), 400, "NVLink partitioning"},
			"device on subnet": {"POST", "/instance", w.newInstance(b, fields{"interfaces": device}), 400, "vpcPrefixId"},
		})
	})
}

func TestOperatingSystems_bringTheirOwnRules(t *testing.T) {
	const (
		image   = "05000000-0000-4000-8000-000000000002"
		locked  = "05000000-0000-4000-8000-000000000003"
		retired = "05000000-0000-4000-8000-000000000004"
	)
	inSimulatedTime(t, func(b bench) {
		w := populate(b)
		boot := func(id string, changes fields) string {
			changes["operatingSystemId"] = id
			return w.newInstance(b, changes)
		}
		b.expectRefusals(map[string]refusal{
			"unknown system":      {"POST", "/instance", boot(unknown, fields{}), 400, "Could not find OperatingSystem"},
			"retired system":      {"POST", "/instance", boot(retired, fields{"ipxeScript": nil}), 400, "deactivated"},
			"image with a script": {"POST", "/instance", boot(image, fields{}), 400, "Image based"},
			"data of one's own":   {"POST", "/instance", boot(locked, fields{"userData": "#cloud-config"}), 400, "userData"},
		})
		answer[api.OperatingSystem](b, 200, "GET", "/operating-system/"+image, nil)
		b.Expect(answer[[]api.OperatingSystem](b, 200, "GET", "/operating-system", nil)).To(HaveLen(4))
	}, func(c *sim.Config) {
		c.OperatingSystems = append(c.OperatingSystems, sim.OperatingSystem{ID: image, Name: "image", Image: true},
			sim.OperatingSystem{ID: locked, Name: "locked", NoOverride: true}, sim.OperatingSystem{ID: retired, Name: "retired", Inactive: true})
	})
}

func TestPatchedInstances_lagBehindTheInventory(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		b.pass(15 * time.Minute)
		path := "/instance/" + instance.ID
		changed := answer[api.Instance](b, 200, "PATCH", path, fields{"name": "node-9", "labels": fields{"owner": "me"}})
		b.Expect([]any{changed.Name, changed.Labels["owner"], changed.IsUpdatePending}).To(Equal([]any{"node-9", "me", true}))
		b.pass(3 * time.Minute)
		b.Expect(answer[api.Instance](b, 200, "GET", path, nil).IsUpdatePending).To(BeFalse())

		answer[nothing](b, 200, "PATCH", path, fields{"triggerReboot": true})
		b.Expect(b.status("instance", instance.ID)).To(Equal("Ready"), "its reboot isn't seen yet")
		b.pass(3 * time.Minute)
		b.Expect(b.status("instance", instance.ID)).To(Equal("Rebooting"))
		b.pass(5 * time.Minute)
		b.Expect(b.status("instance", instance.ID)).To(Equal("Ready"))

		b.expectRefusals(map[string]refusal{
			"reboot and more": {"PATCH", path, `{"triggerReboot": true, "name": "other"}`, 400, "triggerReboot"},
			"unknown group":   {"PATCH", path, with(b, fields{"networkSecurityGroupId": unknown}, nil), 400, "NetworkSecurityGroup"},
			"not there":       {"PATCH", "/instance/" + unknown, `{"name": "other"}`, 404, "Could not find Instance"},
		})
		answer[nothing](b, 202, "DELETE", path, nil)
		b.expectRefusals(map[string]refusal{"terminating": {"PATCH", path, `{"name": "other"}`, 409, "terminating"}})
	})
}

func TestInstance_statusIsFrozenAfterEachWrite(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		frozenAs := func(status string) {
			b.Expect(b.status("instance", instance.ID)).To(Equal(status))
			b.pass(3*time.Minute + 4*time.Second)
			b.Expect(b.status("instance", instance.ID)).To(Equal(status))
			b.pass(time.Second)
		}
		frozenAs("Pending")
		b.Expect(b.status("instance", instance.ID)).To(Equal("Ready"), "for three minutes now")
		answer[nothing](b, 200, "PATCH", "/instance/"+instance.ID, fields{"triggerReboot": true})
		frozenAs("Ready")
		b.Expect(b.status("instance", instance.ID)).To(Equal("Rebooting"))
	}, func(c *sim.Config) {
		c.Times.Freeze.Duration = 3*time.Minute + 5*time.Second
		c.Times.InstanceMin.Duration, c.Times.InstanceMax.Duration = time.Second, time.Second
	})
}

func TestViewLag_showsWhatWasBeforeAChange(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		group, vpc := b.group("guard"), b.vpc("net")
		instance := b.instance("node-1", b.subnet(vpc, "nodes"))
		for _, path := range []string{"/network-security-group/" + group.ID, "/vpc/" + vpc.ID, "/instance/" + instance.ID} {
			labels := func() client.Labels { return answer[struct{ Labels client.Labels }](b, 200, "GET", path, nil).Labels }
			changed := answer[struct{ Labels client.Labels }](b, 200, "PATCH", path, fields{"labels": fields{"owner": "me"}})
			b.Expect(changed.Labels).To(HaveKey("owner"), "who changes it sees it")
			b.pass(3*time.Minute - time.Second)
			b.Expect(labels()).To(BeEmpty())
			b.pass(time.Second)
			b.Expect(labels()).To(HaveKey("owner"))
		}
	}, func(c *sim.Config) { c.Times.ViewLag.Duration = 3 * time.Minute })
}

func TestAnIllMachine_isReleasedForGood(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		instance := b.instance("node-1", subnet)
		path := "/instance/" + instance.ID
		issue := func(category, summary string) fields {
			return fields{"machineHealthIssue": fields{"category": category, "summary": summary, "details": "smoke"}}
		}
		b.expectRefusals(map[string]refusal{
			"unknown category": {"DELETE", path, with(b, issue("Mood", "sad"), nil), 400, "category"},
			"no summary":       {"DELETE", path, `{"machineHealthIssue": {"category": "Other"}}`, 400, "summary"},
			"not a repairer":   {"DELETE", path, `{"isRepairTenant": true}`, 403, "repair"},
		})
		answer[nothing](b, 202, "DELETE", path, issue("Hardware", "fan is dead"))
		b.pass(3 * time.Minute)
		releases := b.server.State().Releases
		b.Expect(releases).To(HaveLen(1))
		b.Expect(releases[0].InstanceID).To(Equal(instance.ID))
		b.Expect(releases[0].MachineHealthIssue.Summary).To(Equal("fan is dead"))
		machine := answer[api.Machine](b, 200, "GET", "/machine/"+instance.MachineID, nil)
		b.Expect(machine.Status).To(Equal(api.MachineStatusMaintenance))
		b.Expect(machine.IsUsableByTenant).To(BeFalse())
		b.Expect(machine.Health.Alerts[0].Message).To(Equal("fan is dead"))

		request := instanceRequest("node-2", subnet)
		_, err := b.client.CreateInstance(b.t.Context(), request)
		b.Expect(err).To(MatchError(ContainSubstring("No Machines are available")), "there was only that one")
		request.InstanceTypeID, request.MachineID = "", instance.MachineID
		_, err = b.client.CreateInstance(b.t.Context(), request)
		b.Expect(err).To(MatchError(ContainSubstring("can be provisioned by setting")))
		request.AllowUnhealthyMachine = true
		_, err = b.client.CreateInstance(b.t.Context(), request)
		b.Expect(err).NotTo(HaveOccurred())
	}, func(c *sim.Config) { c.InstanceTypes[0].Machines = 1 })
}

func TestTenantsWithoutTheCapability_cannotChooseMachines(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populated{vpc: b.vpc("net")}
		w.subnet = b.subnet(w.vpc, "nodes")
		b.expectRefusals(map[string]refusal{
			"targeted": {"POST", "/instance", w.newInstance(b, fields{"instanceTypeId": nil, "machineId": "m"}), 403, "specific Machines"},
		})
	}, func(c *sim.Config) { c.Tenant.TargetedInstanceCreation = false })
}

func TestABatch_isMadeAsAWholeOrNotAtAll(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populated{vpc: b.vpc("net")}
		w.subnet = b.subnet(w.vpc, "nodes")
		batch := func(prefix string, count int) string {
			return w.newInstance(b, fields{"name": nil, "namePrefix": prefix, "count": count})
		}
		status, text := b.call("POST", base+"/instance/batch", batch("node", 3))
		b.Expect(status).To(Equal(201), text)
		instances, err := b.client.Instances(b.t.Context(), client.InstanceFilter{VPCID: w.vpc.ID})
		b.Expect(err).NotTo(HaveOccurred())
		names, machines := []string{}, map[string]bool{}
		for _, i := range instances {
			names, machines[i.MachineID] = append(names, i.Name), true
		}
		b.Expect(names).To(ConsistOf("node-1", "node-2", "node-3"))
		b.Expect(machines).To(HaveLen(3))
		b.pass(15 * time.Minute)
		b.Expect(b.rack.running()).To(HaveLen(3))

		b.expectRefusals(map[string]refusal{
			"a taken name":                 {"POST", "/instance/batch", batch("node", 3), 409, "already exists"},
			"more machines than there are": {"POST", "/instance/batch", batch("more", 6), 400, "No Machines are available"},
			"a batch of one":               {"POST", "/instance/batch", batch("more", 1), 400, "count"},
		})
		b.Expect(b.server.State().Instances).To(HaveLen(3))
	})
}

func TestInstances_haveASerialConsole(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		b.Expect(instance.SerialConsoleURL).To(Equal("ssh://" + instance.ID + "@console.site-1.example.com"))
	})
}
