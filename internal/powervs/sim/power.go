package sim

import (
	"net/http"
	"strings"
	"time"
)

// Power has the data centres of Power Virtual Servers, and what is in workspaces.
func (c *Cloud) Power() http.Handler { return c.power }

// power is the service.
type power struct {
	*service
	dhcpServers *store[*dhcpServer]
	networks    *store[*network]
	images      *store[*image]
	jobs        *store[*job]
	servers     *store[*server]
}

// inWorkspace is the path of everything that is in a workspace.
const inWorkspace = "/pcloud/v1/cloud-instances/{workspace}"

func (c *Cloud) newPower() *power {
	p := &power{
		service: newService(c, "power", failAsPower), dhcpServers: newStore[*dhcpServer](c, KindDHCPServer),
		networks: newStore[*network](c, KindNetwork), images: newStore[*image](c, KindImage),
		jobs: newStore[*job](c, KindJob), servers: newStore[*server](c, KindServer),
	}
	p.open("listDatacenters", "GET /v1/datacenters", p.listDatacenters)
	p.open("getDatacenter", "GET /v1/datacenters/{zone}", p.getDatacenter)
	for operation, do := range map[string]struct {
		pattern string
		work    func(*instance, *call) (reply, error)
	}{
		"listSystemPools":  {"GET /system-pools", p.listSystemPools},
		"listDHCPServers":  {"GET /services/dhcp", p.listDHCPServers},
		"createDHCPServer": {"POST /services/dhcp", p.createDHCPServer},
		"getDHCPServer":    {"GET /services/dhcp/{id}", p.getDHCPServer},
		"deleteDHCPServer": {"DELETE /services/dhcp/{id}", p.deleteDHCPServer},
		"listNetworks":     {"GET /networks", p.listNetworks},
		"getNetwork":       {"GET /networks/{id}", p.getNetwork},
		"listImages":       {"GET /images", p.listImages},
		"getImage":         {"GET /images/{id}", p.getImage},
		"deleteImage":      {"DELETE /images/{id}", p.deleteImage},
		"importImage":      {"POST /cos-images", p.importImage},
		"getLastImport":    {"GET /cos-images", p.getLastImport},
		"listJobs":         {"GET /jobs", p.listJobs},
		"getJob":           {"GET /jobs/{id}", p.getJob},
		"deleteJob":        {"DELETE /jobs/{id}", p.deleteJob},
		"listServers":      {"GET /pvm-instances", p.listServers},
		"createServer":     {"POST /pvm-instances", p.createServer},
		"getServer":        {"GET /pvm-instances/{id}", p.getServer},
		"deleteServer":     {"DELETE /pvm-instances/{id}", p.deleteServer},
	} {
		method, path, _ := strings.Cut(do.pattern, " ")
		p.handle(operation, method+" "+inWorkspace+path, func(r *call) (reply, error) {
			w, err := p.workspace(r)
			if err != nil {
				return reply{}, err
			}
			return do.work(w, r)
		})
	}
	return p
}

// failAsPower is the format of PowerVS: the name of the status, and what is wrong.
func failAsPower(w http.ResponseWriter, f *failure) {
	writeFailure(w, f.status, map[string]any{"error": strings.ToLower(http.StatusText(f.status)), "description": f.message})
}

// badRequest is the answer to a request that makes no sense.
func badRequest(format string, args ...any) *failure {
	return refuse(http.StatusBadRequest, "", format, args...)
}

// workspace is the one of a request, which also has to name it in a header.
func (p *power) workspace(r *call) (*instance, error) {
	id := r.PathValue("workspace")
	w, found := p.cloud.controller.instances.Find(func(i *instance) bool { return i.id == id && i.planID == PlanPower })
	switch crn := r.Header.Get("CRN"); {
	case crn == "":
		return nil, badRequest("the CRN header is missing")
	case !found || w.over(r.now):
		return nil, refuse(http.StatusNotFound, "", "cloud instance %s does not exist", id)
	case crn != w.crn:
		return nil, refuse(http.StatusForbidden, "", "the CRN header does not match cloud instance %s", id)
	case w.Status(r.now) != "active":
		return nil, refuse(http.StatusNotFound, "", "cloud instance %s does not exist: its state is %s", id, w.Status(r.now))
	}
	return w, nil
}

// workspaceObject is the beginning of everything that is in a workspace.
type workspaceObject struct {
	object
	workspace *instance
}

func newWorkspaceObject(w *instance, name string, now time.Time, takes time.Duration) workspaceObject {
	return workspaceObject{newObject(now, name, w.id, takes), w}
}

// Gone includes that of the workspace.
func (o *workspaceObject) Gone(now time.Time) bool {
	return o.Life.Gone(now) || o.workspace.over(now) || o.workspace.Gone(now)
}

// uses reports whether an instance is a workspace with something in it that has to be deleted before. Images haven't.
func (p *power) uses(w *instance) bool {
	return len(p.servers.within(w.id))+len(p.dhcpServers.within(w.id))+len(p.networks.within(w.id)) > 0
}

// makeContent makes what is in a workspace from the beginning.
func (p *power) makeContent(w *instance, content Instance, now time.Time) {
	for _, n := range content.Networks {
		p.networks.Add(worldNetwork(workspaceObject{worldObject(now, n.ID, n.Name, w.id), w}, n.CIDR))
	}
	for _, i := range content.Images {
		p.images.Add(&image{workspaceObject: workspaceObject{worldObject(now, i.ID, i.Name, w.id), w}, storageType: defaultTier})
	}
}

func (p *power) listDatacenters(*call) (reply, error) {
	views := []any{}
	for _, z := range p.cloud.config.Zones {
		views = append(views, datacenterView(z))
	}
	return ok(map[string]any{"datacenters": views})
}

func (p *power) getDatacenter(r *call) (reply, error) {
	z, found := p.cloud.config.zone(r.PathValue("zone"))
	if !found {
		return reply{}, badRequest("datacenter %s does not exist", r.PathValue("zone"))
	}
	return ok(datacenterView(z))
}

func datacenterView(z Zone) any {
	return map[string]any{
		"type": "off-premises", "status": "active", "href": "/v1/datacenters/" + z.Name, "capabilities": z.Capabilities,
		"capabilitiesDetails": map[string]any{
			"supportedSystems": map[string]any{"dedicated": []string{}, "general": z.SystemTypes},
			"disasterRecovery": map[string]any{
				"asynchronousReplication": map[string]any{"enabled": false, "targetLocations": []any{}},
			},
		},
		"location": map[string]string{
			"region": z.Name, "regionDisplayName": z.Name, "type": "data-center", "cloudRegion": z.Region,
			"url": "https://" + z.Region + ".power-iaas.cloud.ibm.com",
		},
	}
}

// listSystemPools answers with what kinds of systems the zone has.
func (p *power) listSystemPools(w *instance, _ *call) (reply, error) {
	z, _ := p.cloud.config.zone(w.target) // checked when it was made
	pools := map[string]any{}
	for _, system := range z.SystemTypes {
		pools[system] = map[string]any{
			"type": system, "coreIncrement": 0.25, "coreMemoryRatio": 4,
			"systems": []any{map[string]any{"id": 1, "cores": 100.0, "memory": 2000, "availableCores": 80.0, "availableMemory": 1600}},
		}
	}
	return ok(pools)
}
