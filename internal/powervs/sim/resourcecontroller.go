package sim

import (
	"net/http"
	"regexp"
	"time"
	"unicode/utf8"
)

// The plans that instances can have, and what they are plans of.
const (
	PlanPower         = "f165dd34-3a40-423b-9d95-e90a23f724dd"
	PlanObjectStorage = "1e4e33e4-cfa6-4f12-9016-be594a6d5f87"

	ResourcePower         = "abd259f0-9990-11e8-acc8-b9f54a8f1661"
	ResourceObjectStorage = "dff97f5c-bc5e-4455-b470-411c3edbe49c"
)

// plan is how a service is offered.
type plan struct{ planID, resourceID, service string }

var plans = map[string]plan{
	PlanPower:         {PlanPower, ResourcePower, "power-iaas"},
	PlanObjectStorage: {PlanObjectStorage, ResourceObjectStorage, "cloud-object-storage"},
}

// offers reports whether a plan can have instances at a target.
func (c Config) offers(p plan, target string) bool {
	if p.planID == PlanObjectStorage {
		return target == "global"
	}
	_, found := c.zone(target)
	return found
}

// KindInstance are workspaces and instances of Object Storage.
const KindInstance Kind = "instance"

// instance is a workspace of PowerVS, or an instance of Object Storage. Its ID is its GUID.
type instance struct {
	object
	plan
	crn, target, groupID string
	parameters           map[string]any
	// deleting is how long its deletion takes, and reclamation how long it can be restored afterwards.
	deleting, reclamation time.Duration
}

// Status goes from provisioning to active; a deletion ends with its reclamation.
func (i *instance) Status(now time.Time) string {
	if !i.over(now) {
		return i.in(words{building: "provisioning", ready: "active"}, now)
	}
	if now.Before(i.Deleted.Add(i.deleting + i.reclamation)) {
		return "pending_reclamation"
	}
	return "removed"
}

// over reports whether it exists no more for its users.
func (i *instance) over(now time.Time) bool {
	return !i.Deleted.IsZero() && !now.Before(i.Deleted.Add(i.deleting))
}

// lastOperation is what was asked for last, and what became of it.
func (i *instance) lastOperation(now time.Time) map[string]any {
	kind, state := "create", "succeeded"
	switch status := i.Status(now); {
	case !i.Deleted.IsZero():
		if kind = "delete"; !i.over(now) {
			state = "in progress"
		}
	case status == "provisioning":
		state = "in progress"
	case status == "failed":
		state = "failed"
	}
	return map[string]any{"type": kind, "state": state, "async": true, "description": i.Reason}
}

// ResourceController has workspaces, instances of Object Storage, and keys.
func (c *Cloud) ResourceController() http.Handler { return c.controller }

// resourceController is the service.
type resourceController struct {
	*service
	instances *store[*instance]
	keys      *store[*resourceKey]
}

func (c *Cloud) newResourceController() *resourceController {
	s := &resourceController{
		service: newService(c, "resourcecontroller", failAsController), instances: newStore[*instance](c, KindInstance),
		keys: newStore[*resourceKey](c, KindResourceKey),
	}
	s.handle("listResourceInstances", "GET /v2/resource_instances", s.list)
	s.handle("createResourceInstance", "POST /v2/resource_instances", s.create)
	s.handle("getResourceInstance", "GET /v2/resource_instances/{id}", s.get)
	s.handle("deleteResourceInstance", "DELETE /v2/resource_instances/{id}", s.delete)
	s.handle("listResourceKeysForInstance", "GET /v2/resource_instances/{id}/resource_keys", s.listKeysOf)
	s.handle("listResourceKeys", "GET /v2/resource_keys", s.listKeys)
	s.handle("createResourceKey", "POST /v2/resource_keys", s.createKey)
	s.handle("getResourceKey", "GET /v2/resource_keys/{id}", s.getKey)
	s.handle("deleteResourceKey", "DELETE /v2/resource_keys/{id}", s.deleteKey)
	return s
}

// failAsController is the format of Resource Controller.
func failAsController(w http.ResponseWriter, f *failure) {
	writeFailure(w, f.status, map[string]any{
		"message": f.message, "status_code": f.status, "error_code": f.code, "transaction_id": "simulated",
	})
}

type instanceRequest struct {
	Name           string         `json:"name"`
	Target         string         `json:"target"`
	ResourceGroup  string         `json:"resource_group"`
	ResourcePlanID string         `json:"resource_plan_id"`
	Tags           []string       `json:"tags"`
	AllowCleanup   bool           `json:"allow_cleanup"`
	Parameters     map[string]any `json:"parameters"`
}

var instanceName = regexp.MustCompile(`^[\p{L}\p{N} \-._:]+$`)

// check a request.
func (s *resourceController) check(request instanceRequest, now time.Time) (plan, error) {
	config := s.cloud.config
	p, offered := plans[request.ResourcePlanID]
	_, inGroup := config.resourceGroup(request.ResourceGroup)
	switch {
	case !instanceName.MatchString(request.Name) || utf8.RuneCountInString(request.Name) > 180:
		return p, refuse(http.StatusBadRequest, "RC-InvalidName",
			"The name must be 180 characters or less and cannot include any special characters other than (space) - . _ :")
	case !inGroup:
		return p, refuse(http.StatusBadRequest, "RC-ResourceGroupNotFound", "Resource group %s was not found.", request.ResourceGroup)
	case !offered:
		return p, refuse(http.StatusBadRequest, "RC-PlanNotFound", "Plan %s was not found.", request.ResourcePlanID)
	case !config.offers(p, request.Target):
		return p, refuse(http.StatusBadRequest, "RC-TargetNotFound", "The plan is not offered at target %q.", request.Target)
	}
	existing := s.instances.Count(func(i *instance) bool { return i.plan == p && !i.over(now) })
	if p.planID == PlanPower && exceeded(config.Quotas.Workspaces, existing+1) {
		return p, refuse(http.StatusBadRequest, "RC-ServiceBrokerErrorResponse",
			"The limit of %d workspaces of the account has been reached.", config.Quotas.Workspaces)
	}
	return p, nil
}

func (s *resourceController) create(r *call) (reply, error) {
	var request instanceRequest
	if err := r.into(&request); err != nil {
		return reply{}, err
	}
	p, err := s.check(request, r.now)
	if err != nil {
		return reply{}, err
	}
	takes := time.Duration(0)
	if p.planID == PlanPower {
		takes = s.cloud.config.Times.Workspace.Duration
	}
	i := s.newInstance(newObject(r.now, request.Name, "", takes), p, request.Target, request.ResourceGroup)
	i.parameters = request.Parameters
	return reply{status: http.StatusCreated, body: s.view(add(s.cloud, s.instances, i), r.now)}, nil
}

func (s *resourceController) newInstance(o object, p plan, target, groupID string) *instance {
	times := s.cloud.config.Times
	return &instance{
		object: o, plan: p, target: target, groupID: groupID, crn: s.cloud.crn(p.service, target, o.id, "", ""),
		deleting: times.InstanceDelete.Duration, reclamation: max(0, times.Reclamation.Duration),
	}
}

// byID finds an instance by its GUID or its CRN.
func (s *resourceController) byID(id string) (*instance, bool) {
	return s.instances.Find(func(i *instance) bool { return i.id == id || i.crn == id })
}

// known is the instance of a request.
func (s *resourceController) known(r *call) (*instance, error) {
	i, found := s.byID(r.PathValue("id"))
	if !found {
		return nil, refuse(http.StatusNotFound, "RC-InstanceNotFound", "Instance not found: %s", r.PathValue("id"))
	}
	return i, nil
}

func (s *resourceController) get(r *call) (reply, error) {
	i, err := s.known(r)
	if err != nil {
		return reply{}, err
	}
	return ok(s.view(i, r.now))
}

// delete begins a deletion. With recursive=true the keys go as well.
func (s *resourceController) delete(r *call) (reply, error) {
	i, err := s.known(r)
	if err != nil {
		return reply{}, err
	}
	keys := s.keys.within(i.id)
	switch status := i.Status(r.now); {
	case status == "removed":
		return reply{}, refuse(http.StatusGone, "RC-InstanceRemoved", "Instance was removed: %s", i.id)
	case status == "pending_reclamation":
		return reply{}, refuse(http.StatusUnprocessableEntity, "RC-InstanceInReclamation",
			"Instance is in reclamation, please use the API to the delete the resource reclamation for the instance")
	case status == "provisioning" || !i.Deleted.IsZero():
		return reply{}, refuse(http.StatusUnprocessableEntity, "RC-OperationInProgress", "Another operation of the instance is in progress.")
	case len(keys) > 0 && r.query("recursive") != "true":
		return reply{}, refuse(http.StatusBadRequest, "RC-InstanceHasKeys", "The instance has resource keys, which have to be deleted first.")
	case s.cloud.power.uses(i):
		return reply{}, refuse(http.StatusBadRequest, "RC-ServiceBrokerErrorResponse",
			"The workspace has servers, DHCP servers or networks, which have to be deleted first.")
	}
	for _, key := range keys {
		key.Delete(r.now, 0)
	}
	i.Delete(r.now, i.deleting+i.reclamation+s.cloud.config.Times.Removed.Duration)
	return reply{status: http.StatusAccepted}, nil
}

func (s *resourceController) view(i *instance, now time.Time) map[string]any {
	path := "/v2/resource_instances/" + i.id
	view := map[string]any{
		"id": i.crn, "guid": i.id, "crn": i.crn, "url": path, "name": i.name, "region_id": i.target,
		"account_id": s.cloud.config.Account, "resource_id": i.resourceID, "resource_plan_id": i.planID,
		"resource_group_id": i.groupID, "resource_group_crn": s.cloud.groupCRN(i.groupID), "target_crn": i.targetCRN(),
		"type": "service_instance", "state": i.Status(now), "last_operation": i.lastOperation(now),
		"created_at": date(i.Created), "updated_at": date(i.Updated(now)), "resource_keys_url": path + "/resource_keys",
		"parameters": i.parameters, "locked": false,
	}
	if i.over(now) {
		view["deleted_at"] = date(i.Deleted)
	}
	return view
}

func (i *instance) targetCRN() string {
	return "crn:v1:bluemix:public:globalcatalog::::deployment:" + i.planID + ":" + i.target
}
