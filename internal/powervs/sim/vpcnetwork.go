package sim

import (
	"net/http"
	"time"
)

// vpc is a virtual private cloud.
type vpc struct {
	regional
	// manual means that it has no address prefixes.
	manual bool
	// defaultGroup is its default security group.
	defaultGroup *securityGroup
}

var availability = words{building: "pending", ready: "available", deleting: "deleting"}

// Status is that of VPCs and subnets.
func (v *vpc) Status(now time.Time) string { return v.in(availability, now) }

type vpcRequest struct {
	Name                    *string      `json:"name"`
	ResourceGroup           *idReference `json:"resource_group"`
	AddressPrefixManagement string       `json:"address_prefix_management"`
	ClassicAccess           bool         `json:"classic_access"`
}

func (r *vpcRegion) listVPCs(call *call) (reply, error) {
	return list(call, "vpcs", inRegion(r.cloud.vpc.vpcs, r.region.Name), map[string]func(*vpc) string{
		"resource_group.id": func(v *vpc) string { return v.group.ID },
		"classic_access":    func(*vpc) string { return "false" },
	}, func(v *vpc) doc { return v.view(call.now) })
}

func (r *vpcRegion) getVPC(call *call) (reply, error) {
	v, err := getInRegion(r.cloud.vpc.vpcs, r.region.Name, call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(v.view(call.now))
}

// createVPC makes a VPC with its default security group.
func (r *vpcRegion) createVPC(call *call) (reply, error) {
	var request vpcRequest
	if err := call.into(&request); err != nil {
		return reply{}, err
	}
	others := inRegion(r.cloud.vpc.vpcs, r.region.Name)
	name, err := nameAmong(request.Name, others)
	if err != nil {
		return reply{}, err
	}
	group, err := r.cloud.groupOf(request.ResourceGroup)
	if err != nil {
		return reply{}, err
	}
	switch limit := r.cloud.config.Quotas.VPCs; {
	case request.ClassicAccess:
		return reply{}, refuse(http.StatusBadRequest, "missing_ims_account_id", "The account is not linked to classic infrastructure.")
	case exceeded(limit, len(others)+1):
		return reply{}, overQuota("over_quota", "VPCs in the region", limit)
	}
	v := &vpc{
		regional: r.newRegional(call.now, name, "", "vpc", group, r.cloud.config.Times.VPC.Duration),
		manual:   request.AddressPrefixManagement == "manual",
	}
	v.defaultGroup = r.newGroup(call.now, randomName(), v, group)
	v.defaultGroup.part = true
	r.cloud.vpc.groups.Add(v.defaultGroup)
	for _, rule := range defaultRules(v.defaultGroup) {
		r.addRule(call.now, v.defaultGroup, rule).part = true
	}
	return reply{status: http.StatusCreated, body: add(r.cloud, r.cloud.vpc.vpcs, v).view(call.now)}, nil
}

// deleteVPC begins a deletion, which includes the security groups. What is still in the VPC prevents it; a connection to a transit
// gateway doesn't.
func (r *vpcRegion) deleteVPC(call *call) (reply, error) {
	v, err := getInRegion(r.cloud.vpc.vpcs, r.region.Name, call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if r.cloud.vpc.subnets.Any(func(s *subnet) bool { return s.vpc == v }) {
		return reply{}, refuse(http.StatusConflict, "vpc_in_use", "Cannot delete the VPC %s while it has subnets.", v.id)
	}
	v.Delete(call.now, r.cloud.config.Times.VPCDelete.Duration)
	return reply{status: http.StatusNoContent}, nil
}

func (v *vpc) view(now time.Time) doc {
	d := v.doc("vpcs")
	status := v.Status(now)
	health := "ok"
	if status != availability.ready {
		health = "inapplicable"
	}
	d["resource_type"], d["status"], d["health_state"], d["health_reasons"] = "vpc", status, health, []doc{}
	d["classic_access"], d["cse_source_ips"], d["public_address_ranges"] = false, []doc{}, []doc{}
	d["default_security_group"] = v.defaultGroup.reference("security_groups")
	d["default_network_acl"], d["default_routing_table"] = v.acl(), v.routingTable()
	d["dns"] = doc{"enable_hub": false, "resolution_binding_count": 0, "resolver": doc{"type": "system", "servers": []doc{}}}
	return d
}

// asReference is how others show it.
func (v *vpc) asReference() doc {
	d := v.reference("vpcs")
	d["resource_type"] = "vpc"
	return d
}

// acl and routingTable are what each VPC has and no client asks for.
func (v *vpc) acl() doc {
	return doc{"id": v.id + "-acl", "name": v.name + "-acl", "crn": v.crn + "-acl", "href": href(v.region, "network_acls", v.id+"-acl")}
}

func (v *vpc) routingTable() doc {
	return doc{
		"id": v.id + "-rt", "name": v.name + "-rt", "crn": v.crn + "-rt", "resource_type": "routing_table",
		"href": href(v.region, "vpcs", v.id, "routing_tables", v.id+"-rt"),
	}
}

// vpcOf is the VPC of a request, if something can be made in it.
func (r *vpcRegion) vpcOf(wanted *idReference, now time.Time) (*vpc, error) {
	if wanted == nil {
		return nil, missing("vpc")
	}
	v, err := getInRegion(r.cloud.vpc.vpcs, r.region.Name, wanted.ID)
	if err == nil && v.Status(now) != availability.ready {
		err = refuse(http.StatusConflict, "vpc_unknown_state", "The VPC %s is in an invalid state for the requested operation.", v.id)
	}
	return v, err
}

func missing(field string) *failure {
	return refuse(http.StatusBadRequest, "validation_required_field", "Missing a required field: %s", field)
}
