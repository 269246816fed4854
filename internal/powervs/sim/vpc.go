package sim

import (
	"crypto/rand"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The kinds of VPC.
const (
	KindVPC           Kind = "vpc"
	KindSubnet        Kind = "subnet"
	KindSecurityGroup Kind = "securityGroup"
	KindSecurityRule  Kind = "securityGroupRule"
	KindLoadBalancer  Kind = "loadBalancer"
	KindListener      Kind = "loadBalancerListener"
	KindPool          Kind = "loadBalancerPool"
	KindMember        Kind = "loadBalancerPoolMember"
)

// vpcState is all that there is of VPC, in all regions.
type vpcState struct {
	vpcs      *store[*vpc]
	subnets   *store[*subnet]
	groups    *store[*securityGroup]
	rules     *store[*securityRule]
	balancers *store[*balancer]
	listeners *store[*listener]
	pools     *store[*backendPool]
	members   *store[*poolMember]
	regions   map[string]*vpcRegion
}

// vpcRegion is the API of VPC in one region.
type vpcRegion struct {
	*service
	region Region
}

// VPC is the API of a region; nil if there is no such region.
func (c *Cloud) VPC(region string) http.Handler {
	if r, found := c.vpc.regions[region]; found {
		return r
	}
	return nil
}

func (c *Cloud) newVPC() vpcState {
	state := vpcState{
		vpcs: newStore[*vpc](c, KindVPC), subnets: newStore[*subnet](c, KindSubnet),
		groups: newStore[*securityGroup](c, KindSecurityGroup), rules: newStore[*securityRule](c, KindSecurityRule),
		balancers: newStore[*balancer](c, KindLoadBalancer), listeners: newStore[*listener](c, KindListener),
		pools: newStore[*backendPool](c, KindPool), members: newStore[*poolMember](c, KindMember),
		regions: map[string]*vpcRegion{},
	}
	for _, region := range c.config.Regions {
		r := &vpcRegion{service: newService(c, "vpc", failWithList), region: region}
		r.authenticate = func(request *http.Request) error {
			if c.authenticate(request) != nil {
				return refuse(http.StatusUnauthorized, "not_authorized", "The request is not authorized.")
			}
			return checkVPCQuery(request)
		}
		r.serve()
		state.regions[region.Name] = r
	}
	return state
}

func (r *vpcRegion) serve() {
	r.handle("listRegionZones", "GET /v1/regions/{region}/zones", r.listZones)

	r.handle("listVPCs", "GET /v1/vpcs", r.listVPCs)
	r.handle("createVPC", "POST /v1/vpcs", r.createVPC)
	r.handle("getVPC", "GET /v1/vpcs/{id}", r.getVPC)
	r.handle("deleteVPC", "DELETE /v1/vpcs/{id}", r.deleteVPC)

	r.handle("listSubnets", "GET /v1/subnets", r.listSubnets)
	r.handle("createSubnet", "POST /v1/subnets", r.createSubnet)
	r.handle("getSubnet", "GET /v1/subnets/{id}", r.getSubnet)
	r.handle("deleteSubnet", "DELETE /v1/subnets/{id}", r.deleteSubnet)

	r.handle("listSecurityGroups", "GET /v1/security_groups", r.listGroups)
	r.handle("createSecurityGroup", "POST /v1/security_groups", r.createGroup)
	r.handle("getSecurityGroup", "GET /v1/security_groups/{id}", r.getGroup)
	r.handle("deleteSecurityGroup", "DELETE /v1/security_groups/{id}", r.deleteGroup)
	const rules = "/v1/security_groups/{group}/rules"
	r.handle("listSecurityGroupRules", "GET "+rules, r.listRules)
	r.handle("createSecurityGroupRule", "POST "+rules, r.createRule)
	r.handle("getSecurityGroupRule", "GET "+rules+"/{id}", r.getRule)
	r.handle("deleteSecurityGroupRule", "DELETE "+rules+"/{id}", r.deleteRule)

	const balancers = "/v1/load_balancers"
	r.handle("listLoadBalancers", "GET "+balancers, r.listBalancers)
	r.handle("createLoadBalancer", "POST "+balancers, r.createBalancer)
	r.handle("getLoadBalancer", "GET "+balancers+"/{id}", r.getBalancer)
	r.handle("updateLoadBalancer", "PATCH "+balancers+"/{balancer}", r.updateBalancer)
	r.handle("deleteLoadBalancer", "DELETE "+balancers+"/{id}", r.deleteBalancer)
	const listeners = balancers + "/{balancer}/listeners"
	r.handle("listLoadBalancerListeners", "GET "+listeners, r.listListeners)
	r.handle("createLoadBalancerListener", "POST "+listeners, r.createListener)
	r.handle("getLoadBalancerListener", "GET "+listeners+"/{id}", r.getListener)
	r.handle("deleteLoadBalancerListener", "DELETE "+listeners+"/{id}", r.deleteListener)
	const pools = balancers + "/{balancer}/pools"
	r.handle("listLoadBalancerPools", "GET "+pools, r.listPools)
	r.handle("createLoadBalancerPool", "POST "+pools, r.createPool)
	r.handle("getLoadBalancerPool", "GET "+pools+"/{id}", r.getPool)
	r.handle("deleteLoadBalancerPool", "DELETE "+pools+"/{id}", r.deletePool)
	const members = pools + "/{pool}/members"
	r.handle("listLoadBalancerPoolMembers", "GET "+members, r.listMembers)
	r.handle("createLoadBalancerPoolMember", "POST "+members, r.createMember)
	r.handle("getLoadBalancerPoolMember", "GET "+members+"/{id}", r.getMember)
	r.handle("deleteLoadBalancerPoolMember", "DELETE "+members+"/{id}", r.deleteMember)
}

// firstVersion is the oldest date that the API knows.
const firstVersion = "2019-01-01"

// checkVPCQuery checks what each request must say: which API it wants. That the date isn't in the future isn't checked: in tests it is
// always the year 2000.
func checkVPCQuery(r *http.Request) error {
	version, generation := r.URL.Query().Get("version"), r.URL.Query().Get("generation")
	switch {
	case !isVersion(version) || version < firstVersion:
		return refuse(http.StatusBadRequest, "missing_version",
			"The `version` parameter is required, and it must be of the form `YYYY-MM-DD`.")
	case generation == "":
		return refuse(http.StatusBadRequest, "missing_generation_parameter", "The generation query parameter is required.")
	case generation != "2":
		return refuse(http.StatusBadRequest, "invalid_generation_parameter", "The generation query parameter must be 2.")
	}
	return nil
}

func isVersion(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

func (r *vpcRegion) listZones(call *call) (reply, error) {
	region, found := r.cloud.config.region(call.PathValue("region"))
	if !found {
		return reply{}, notFound("region", call.PathValue("region"))
	}
	zones := docs(region.Zones, func(zone string) doc {
		return doc{
			"name": zone, "href": href(region.Name, "regions", region.Name, "zones", zone), "status": "available",
			"region": doc{"name": region.Name, "href": href(region.Name, "regions", region.Name)},
		}
	})
	return ok(doc{"zones": zones})
}

// regional is what is in a region and in a resource group.
type regional struct {
	object
	region, crn string
	group       ResourceGroup
}

func (r *regional) local() *regional { return r }

type regionalResource interface {
	resource
	local() *regional
}

// newRegional begins now. VPC's IDs say where they are.
func (r *vpcRegion) newRegional(now time.Time, name, within, sort string, group ResourceGroup, takes time.Duration) regional {
	o := regional{object: newObject(now, name, within, takes), region: r.region.Name, group: group}
	o.id = "r006-" + o.id
	o.crn = r.cloud.crn("is", r.region.Name, "", sort, o.id)
	return o
}

// reference is how others show it.
func (r *regional) reference(path string) doc {
	return doc{"id": r.id, "name": r.name, "crn": r.crn, "href": href(r.region, path, r.id)}
}

// doc is how it shows itself, without its own fields.
func (r *regional) doc(path string) doc {
	d := r.reference(path)
	d["created_at"], d["resource_group"] = date(r.Created), doc{
		"id": r.group.ID, "name": r.group.Name, "href": "https://resource-controller.cloud.ibm.com/v2/resource_groups/" + r.group.ID,
	}
	return d
}

func href(region string, parts ...string) string {
	return "https://" + region + ".iaas.cloud.ibm.com/v1/" + strings.Join(parts, "/")
}

// inRegion are the region's own.
func inRegion[R regionalResource](s *store[R], region string) []R {
	var all []R
	for _, one := range s.Items {
		if one.local().region == region {
			all = append(all, one)
		}
	}
	return all
}

func getInRegion[R regionalResource](s *store[R], region, id string) (R, error) {
	one, found := s.Find(func(r R) bool { return r.local().region == region && r.base().id == id })
	if !found {
		return one, notFound(string(s.of), id)
	}
	return one, nil
}

func notFound(what, id string) *failure {
	return refuse(http.StatusNotFound, "not_found",
		"Please check whether the resource you are requesting exists: there is no %s %q", what, id)
}

func overQuota(code, what string, limit int) *failure {
	return refuse(http.StatusBadRequest, code, "The request would exceed the quota for %s, which is %d", what, limit)
}

// vpcName is what names of VPC may be. Those that begin with "ibm-" are IBM's.
var vpcName = regexp.MustCompile(`^([a-z]|[a-z][-a-z0-9]*[a-z0-9]|[0-9][-a-z0-9]*([a-z]|[-a-z][-a-z0-9]*[a-z0-9]))$`)

// nameAmong is the wanted name, if it is valid and none of the others has it, or a random one.
func nameAmong[R resource](wanted *string, others []R) (string, error) {
	name, err := validName(wanted)
	if err == nil && isTaken(name, others) {
		err = refuse(http.StatusBadRequest, "validation_unique_failed", "Provided Name (%s) is not unique", name)
	}
	return name, err
}

func validName(wanted *string) (string, error) {
	if wanted == nil {
		return randomName(), nil
	}
	if !vpcName.MatchString(*wanted) || len(*wanted) > 63 || strings.HasPrefix(*wanted, "ibm-") {
		return "", refuse(http.StatusBadRequest, "validation_invalid_name", "The value is not a valid name: %q", *wanted)
	}
	return *wanted, nil
}

func isTaken[R resource](name string, others []R) bool {
	return slices.ContainsFunc(others, func(r R) bool { return r.base().name == name })
}

// randomName is for what has no name; the real ones are words.
func randomName() string { return "unnamed-" + strings.ToLower(rand.Text()) }

// The ways to refer to something.
type (
	idReference   struct{ ID string }
	nameReference struct{ Name string }
)

// groupOf is the resource group that a request names, or the account's default.
func (c *Cloud) groupOf(wanted *idReference) (ResourceGroup, error) {
	for _, group := range c.config.ResourceGroups {
		if wanted == nil && group.Default || wanted != nil && group.ID == wanted.ID {
			return group, nil
		}
	}
	return ResourceGroup{}, refuse(http.StatusBadRequest, "resource_group_not_found", "The resource group does not exist")
}
