package sim_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// inventory is when the service has certainly heard of what is at a site now.
const inventory = 3*time.Minute + 5*time.Second

func rule(changes fields) fields {
	r := fields{
		"name": "ssh", "direction": "INGRESS", "protocol": "TCP", "action": "PERMIT", "priority": 10,
		"sourcePrefix": "0.0.0.0/0", "destinationPrefix": "10.0.0.0/8", "destinationPortRange": "22",
	}
	for name, value := range changes {
		r[name] = value
	}
	return r
}

func newGroup(changes fields) fields {
	g := fields{"name": "guard", "siteId": sim.DefaultSiteID, "rules": []fields{rule(nil)}}
	for name, value := range changes {
		g[name] = value
	}
	return g
}

func (b bench) group(name string) api.NetworkSecurityGroup {
	group := answer[api.NetworkSecurityGroup](b, 201, "POST", "/network-security-group", newGroup(fields{"name": name}))
	b.pass(inventory)
	return group
}

func TestGroups_withoutADescriptionGetAnEmptyOne(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		made := answer[map[string]any](b, 201, "POST", "/network-security-group", newGroup(nil))
		b.Expect(made).To(And(HaveKeyWithValue("description", BeNil()), HaveKeyWithValue("status", "Pending")))
		b.pass(time.Hour)
		b.Expect(answer[map[string]any](b, 200, "GET", "/network-security-group/"+made["id"].(string), nil)).To(HaveKeyWithValue("description", ""))
		named := answer[map[string]any](b, 201, "POST", "/network-security-group", newGroup(fields{"name": "named", "description": "mine"}))
		b.Expect(named).To(HaveKeyWithValue("description", "mine"))
	})
}

func TestGroupRequests_thatAreRefused(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		group := b.group("guard")
		refused := func(changes fields) string { return with(b, newGroup(fields{"name": "other"}), changes) }
		ruled := func(changes fields) string { return refused(fields{"rules": []fields{rule(changes)}}) }
		twice := []fields{rule(nil), rule(nil)}
		b.expectRefusals(map[string]refusal{
			"group of a taken name":   {"POST", "/network-security-group", refused(fields{"name": "guard"}), 409, group.ID},
			"group at no site":        {"POST", "/network-security-group", refused(fields{"siteId": unknown}), 400, "Could not find Site"},
			"ports with ICMP":         {"POST", "/network-security-group", ruled(fields{"protocol": "ICMP"}), 400, "ports cannot be specified"},
			"ports with ANY":          {"POST", "/network-security-group", ruled(fields{"protocol": "ANY"}), 400, "ports cannot be specified"},
			"a protocol there isn't":  {"POST", "/network-security-group", ruled(fields{"protocol": "tcp"}), 400, "protocol"},
			"ports upside down":       {"POST", "/network-security-group", ruled(fields{"destinationPortRange": "9-8"}), 400, "FIRST-LAST"},
			"ports beyond the last":   {"POST", "/network-security-group", ruled(fields{"sourcePortRange": "70000"}), 400, "FIRST-LAST"},
			"no source":               {"POST", "/network-security-group", ruled(fields{"sourcePrefix": ""}), 400, "sourcePrefix"},
			"an address for a range":  {"POST", "/network-security-group", ruled(fields{"destinationPrefix": "10.0.0.1"}), 400, "CIDR"},
			"a priority beyond 60000": {"POST", "/network-security-group", ruled(fields{"priority": 60001}), 400, "priority"},
			"two rules of one name":   {"POST", "/network-security-group", refused(fields{"rules": twice}), 400, "more than one rule"},
			"PATCH with such a rule": {
				"PATCH", "/network-security-group/" + group.ID, with(b, fields{"rules": []fields{rule(fields{"protocol": "ANY"})}}, nil), 400, "ports",
			},
			"group that doesn't exist": {"GET", "/network-security-group/" + unknown, "", 404, "Could not find Network Security Group"},
			"VPC with an unknown group": {
				"POST", "/vpc", newVPCBody(b, fields{"networkSecurityGroupId": unknown}), 400, "Could not find NetworkSecurityGroup",
			},
		})
	})
}

func TestGroup_becomesReadyAndItsRulesAreReplaced(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		group := answer[api.NetworkSecurityGroup](b, 201, "POST", "/network-security-group", newGroup(nil))
		b.Expect(group.Status).To(Equal(api.NetworkSecurityGroupStatusPending))
		b.Expect(group.Rules[0].DestinationPortRange).To(Equal("22-22"), "the service's own way to write it")
		b.pass(2 * time.Minute)
		b.Expect(b.status("network-security-group", group.ID)).To(Equal("Pending"))
		b.pass(inventory - 2*time.Minute)
		b.Expect(b.status("network-security-group", group.ID)).To(Equal("Ready"))

		path := "/network-security-group/" + group.ID
		changed := answer[api.NetworkSecurityGroup](b, 200, "PATCH", path, fields{
			"rules": []fields{rule(fields{"name": "dns", "protocol": "UDP", "destinationPortRange": "53-54"})}, "statefulEgress": true,
		})
		b.Expect(changed.Rules).To(HaveLen(1))
		b.Expect(changed.Rules[0].Name).To(Equal("dns"))
		b.Expect(changed.StatefulEgress).To(BeTrue())
		b.Expect(changed.Name).To(Equal("guard"))
		b.Expect(answer[api.NetworkSecurityGroup](b, 200, "PATCH", path, fields{"rules": []fields{}}).Rules).To(BeEmpty())
		b.Expect(answer[[]api.NetworkSecurityGroup](b, 200, "GET", "/network-security-group", nil)).To(HaveLen(1))
	})
}

func TestGroup_thatIsAttachedCannotBeDeleted(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		group := b.group("guard")
		path := "/network-security-group/" + group.ID
		vpc := b.vpc("net")
		instance := b.instance("node-1", b.subnet(vpc, "nodes"))
		attach := func(object, id string) {
			answer[nothing](b, 200, "PATCH", object, fields{"networkSecurityGroupId": id})
		}
		attached := func() int {
			return answer[api.NetworkSecurityGroup](b, 200, "GET", path, nil).AttachmentStats.TotalDirectAttachmentCount
		}
		for _, object := range []string{"/vpc/" + vpc.ID, "/instance/" + instance.ID} {
			attach(object, group.ID)
			b.Expect(attached()).To(Equal(1))
			b.expectRefusals(map[string]refusal{object: {"DELETE", path, "", 412, "Cannot delete NetworkSecurityGroup"}})
			attach(object, "")
			b.Expect(attached()).To(BeZero())
		}
		answer[nothing](b, 202, "DELETE", path, nil)
		b.Expect(b.status("network-security-group", group.ID)).To(Equal("Deleting"))
		b.pass(5 * time.Second)
		b.Expect(b.status("network-security-group", group.ID)).To(Equal("gone"))
	})
}

func TestGroup_thatIsPendingIsEnoughForAVPC(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		group := answer[api.NetworkSecurityGroup](b, 201, "POST", "/network-security-group", newGroup(nil))
		vpc := answer[api.VPC](b, 201, "POST", "/vpc", fields{
			"name": "net", "siteId": sim.DefaultSiteID, "networkSecurityGroupId": group.ID})
		b.Expect(b.status("network-security-group", group.ID)).To(Equal("Pending"))
		b.Expect(vpc.Status).To(Equal(api.VPCStatusReady))
		b.Expect(b.server.State().Enforced).To(Equal(map[string]string{vpc.ID: group.ID}))
	})
}

func TestGroups_becomeReadyWithTheSameInventory(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		first := answer[api.NetworkSecurityGroup](b, 201, "POST", "/network-security-group", newGroup(fields{"name": "first"}))
		b.pass(time.Minute)
		second := answer[api.NetworkSecurityGroup](b, 201, "POST", "/network-security-group", newGroup(fields{"name": "second"}))
		b.pass(time.Minute)
		third := answer[api.NetworkSecurityGroup](b, 201, "POST", "/network-security-group", newGroup(fields{"name": "third"}))
		var found []string
		for _, group := range []api.NetworkSecurityGroup{first, second, third} {
			found = append(found, b.status("network-security-group", group.ID))
		}
		b.Expect(found).To(Equal([]string{"Ready", "Ready", "Pending"}))
	}, func(c *sim.Config) { c.Times.InventoryPhase.Duration = 100 * time.Second })
}

func TestGroup_reachesTheInstancesOfItsVPC(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		group := b.group("guard")
		vpc := b.vpc("net")
		subnet := b.subnet(vpc, "nodes")
		attach := func() {
			answer[nothing](b, 200, "PATCH", "/vpc/"+vpc.ID, fields{"networkSecurityGroupId": group.ID})
		}
		shown := func() api.NetworkSecurityGroupPropagationStatus {
			return answer[api.VPC](b, 200, "GET", "/vpc/"+vpc.ID, nil).NetworkSecurityGroupPropagationDetails.Status
		}
		attach()
		b.pass(inventory)
		b.Expect(shown()).To(BeEmpty(), "there are no instances")
		instance := b.instance("node-1", subnet)
		b.Expect(shown()).To(BeEmpty(), "no inventory has it yet")
		b.pass(inventory)
		b.Expect(shown()).To(Equal(api.NetworkSecurityGroupPropagationStatusSynchronized))
		inherited := answer[api.Instance](b, 200, "GET", "/instance/"+instance.ID, nil)
		b.Expect(inherited.NetworkSecurityGroupID).To(BeEmpty())
		b.Expect(inherited.NetworkSecurityGroupInherited).To(BeTrue())
		b.Expect(inherited.NetworkSecurityGroupPropagationDetails.Status).To(Equal(shown()))
		attach()
		b.Expect(shown()).To(BeEmpty(), "whoever names the group makes it unknown until the next inventory")
		b.pass(inventory)
		b.Expect(shown()).To(Equal(api.NetworkSecurityGroupPropagationStatusSynchronized))
	})
}

// An inventory that was taken before a change of the metadata, and is heard of after it, makes the service send these again,
// without the group.
func TestGroup_isDetachedAtTheSiteByAnOldInventory(t *testing.T) {
	slow := func(c *sim.Config) { c.Times.InventoryDelay.Duration = time.Minute }
	for _, row := range []struct {
		name   string
		labels fields
		change fields
		after  time.Duration // an inventory was taken
		kept   bool
	}{
		{"labels, before it is heard of", fields{"owner": "me"}, fields{"labels": fields{"owner": "you"}}, 30 * time.Second, false},
		{"description", fields{"owner": "me"}, fields{"description": "new"}, 30 * time.Second, false},
		{"name", fields{"owner": "me"}, fields{"name": "net-2"}, 30 * time.Second, false},
		{"labels, with the group", fields{"owner": "me"}, fields{"labels": fields{"owner": "you"}, "networkSecurityGroupId": "GROUP"}, 30 * time.Second, false},
		{"labels, after it was heard of", fields{"owner": "me"}, fields{"labels": fields{"owner": "you"}}, 2 * time.Minute, true},
		{"labels of a VPC without", fields{}, fields{"labels": fields{"owner": "you"}}, 30 * time.Second, true},
		{"the same labels", fields{"owner": "me"}, fields{"labels": fields{"owner": "me"}}, 30 * time.Second, true},
		{"the group only", fields{"owner": "me"}, fields{"networkSecurityGroupId": "GROUP"}, 30 * time.Second, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			inSimulatedTime(t, func(b bench) {
				group := answer[api.NetworkSecurityGroup](b, 201, "POST", "/network-security-group", newGroup(nil))
				vpc := answer[api.VPC](b, 201, "POST", "/vpc", fields{
					"name": "net", "siteId": sim.DefaultSiteID, "networkSecurityGroupId": group.ID, "labels": row.labels})
				b.instance("node-1", b.subnet(&vpc, "nodes"))
				enforced := func() string { return b.server.State().Enforced[vpc.ID] }
				details := func() string {
					return string(answer[api.VPC](b, 200, "GET", "/vpc/"+vpc.ID, nil).NetworkSecurityGroupPropagationDetails.Status)
				}
				time.Sleep(time.Until(b.began.Add(9*time.Minute + row.after)))
				if row.change["networkSecurityGroupId"] != nil {
					row.change["networkSecurityGroupId"] = group.ID
				}
				answer[nothing](b, 200, "PATCH", "/vpc/"+vpc.ID, row.change)
				b.Expect(enforced()).To(Equal(group.ID))
				b.pass(time.Minute)
				b.Expect(enforced() == group.ID).To(Equal(row.kept))
				b.pass(2 * 4 * time.Minute)
				b.Expect(enforced() == group.ID).To(Equal(row.kept), "and so it stays")
				b.Expect(details() == "Synchronized").To(Equal(row.kept), "the next inventory knows of no group")
				b.Expect(answer[api.VPC](b, 200, "GET", "/vpc/"+vpc.ID, nil).NetworkSecurityGroupID).To(Equal(group.ID), "whatever is enforced")

				answer[nothing](b, 200, "PATCH", "/vpc/"+vpc.ID, fields{"networkSecurityGroupId": group.ID})
				b.pass(4 * time.Minute)
				b.Expect(enforced()).To(Equal(group.ID))
				b.Expect(details()).To(Equal("Synchronized"))
			}, slow)
		})
	}
}

func TestASiteWithoutTheCapability_hasNoGroups(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.expectRefusals(map[string]refusal{
			"group": {"POST", "/network-security-group", with(b, newGroup(nil), nil), 412, "capability"},
		})
	}, func(c *sim.Config) { c.Sites[0].NetworkSecurityGroup = false })
}
