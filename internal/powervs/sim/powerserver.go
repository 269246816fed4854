package sim

import (
	"net/http"
	"net/netip"
	"time"
)

// KindServer are virtual servers.
const KindServer Kind = "server"

// server is a virtual server.
type server struct {
	workspaceObject
	request serverRequest
	image   *image
	ports   []port
}

// port is how a server is in a network.
type port struct {
	network *network
	address netip.Addr
	mac     string
}

// Status goes from BUILD to ACTIVE.
func (s *server) Status(now time.Time) string {
	return s.in(words{building: "BUILD", ready: "ACTIVE"}, now)
}

// up reports whether its system has asked for addresses.
func (s *server) up(now time.Time) bool {
	return !now.Before(s.Ready) && s.Status(now) != "ERROR" && s.Status(now) != "BUILD"
}

// port is the one in a network.
func (s *server) port(n *network) (port, bool) {
	for _, p := range s.ports {
		if p.network == n {
			return p, true
		}
	}
	return port{}, false
}

func (p *power) listServers(w *instance, r *call) (reply, error) {
	views := []any{}
	for _, s := range p.servers.within(w.id) {
		views = append(views, p.serverView(s, r.now))
	}
	return ok(map[string]any{"pvmInstances": views})
}

func (p *power) server(w *instance, r *call) (*server, error) {
	s, found := p.servers.byID(w.id, r.PathValue("id"))
	if !found {
		return nil, refuse(http.StatusNotFound, "", "pvm-instance %s does not exist", r.PathValue("id"))
	}
	return s, nil
}

func (p *power) getServer(w *instance, r *call) (reply, error) {
	s, err := p.server(w, r)
	if err != nil {
		return reply{}, err
	}
	return ok(p.wholeServer(s, r.now))
}

func (p *power) deleteServer(w *instance, r *call) (reply, error) {
	s, err := p.server(w, r)
	if err != nil {
		return reply{}, err
	}
	s.Delete(r.now, p.cloud.config.Times.ServerDelete.Duration)
	return ok(map[string]any{})
}

// wholeServer is what a list doesn't show, as well.
func (p *power) wholeServer(s *server, now time.Time) map[string]any {
	view := p.serverView(s, now)
	ids := []string{}
	for _, port := range s.ports {
		ids = append(ids, port.network.id)
	}
	view["networkIDs"], view["volumeIDs"] = ids, []string{}
	if s.request.UserTags != nil {
		view["userTags"] = s.request.UserTags
	}
	return view
}

// serverView is what a list shows, which has no tags.
func (p *power) serverView(s *server, now time.Time) map[string]any {
	status := s.Status(now)
	view := map[string]any{
		"pvmInstanceID": s.id, "serverName": s.name, "status": status, "href": s.workspace.path("pvm-instances", s.id),
		"crn": s.workspace.crnOf("pvm-instance", s.id), "imageID": s.image.id, "osType": "rhel", "operatingSystem": "rhel",
		"memory": s.request.Memory, "processors": s.request.Processors, "procType": s.request.ProcType, "sysType": s.request.SysType,
		"diskSize": diskSize, "storageType": s.image.storageType, "health": map[string]string{"status": healthOf(status)},
		"creationDate": date(s.Created), "updatedDate": date(s.Updated(now)), "pinPolicy": "none",
	}
	if !s.Deleted.IsZero() {
		view["taskState"] = "deleting"
	}
	if status == "ERROR" {
		view["fault"] = map[string]any{"code": 500, "message": s.Reason, "created": date(s.ForcedAt)}
	}
	networks := []any{}
	for _, port := range s.ports {
		n := map[string]any{
			"networkID": port.network.id, "networkName": port.network.name, "macAddress": port.mac, "type": "fixed", "version": 4,
			"href": port.network.workspace.path("networks", port.network.id),
		}
		if port.network.dhcp == nil || p.cloud.config.ShowLeases && s.up(now) {
			n["ip"], n["ipAddress"] = port.address.String(), port.address.String()
		}
		networks = append(networks, n)
	}
	view["networks"], view["addresses"] = networks, networks
	return view
}

func healthOf(status string) string {
	switch status {
	case "BUILD":
		return "PENDING"
	case "ERROR":
		return "CRITICAL"
	case "SHUTOFF":
		return "WARNING"
	}
	return "OK"
}
