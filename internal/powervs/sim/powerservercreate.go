package sim

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
)

type serverRequest struct {
	ServerName  string           `json:"serverName"`
	ImageID     string           `json:"imageID"`
	Memory      float64          `json:"memory"`
	Processors  float64          `json:"processors"`
	ProcType    string           `json:"procType"`
	SysType     string           `json:"sysType"`
	KeyPairName string           `json:"keyPairName"`
	UserData    string           `json:"userData"`
	UserTags    []string         `json:"userTags"`
	StorageType string           `json:"storageType"`
	Networks    []networkRequest `json:"networks"`
	// The SDK always writes these.
	NetworkIDs       []string `json:"networkIDs"`
	ReplicationSites []string `json:"replicationSites"`
	VolumeIDs        []string `json:"volumeIDs"`
	VPMemVolumes     []string `json:"vpmemVolumes"`
}

type networkRequest struct {
	NetworkID               string   `json:"networkID"`
	IPAddress               string   `json:"ipAddress"`
	NetworkSecurityGroupIDs []string `json:"networkSecurityGroupIDs"`
}

// maxUserData bounds user data, in bytes before its encoding.
const maxUserData = 63 << 10

var (
	serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,46}$`)
	tagPattern = regexp.MustCompile(`^\s*[A-Za-z0-9:_.\-][A-Za-z0-9\s:_.\-]*$`)
)

// checkTags refuses tags that can't be.
func checkTags(tags []string) error {
	i := slices.IndexFunc(tags, func(tag string) bool { return len(tag) > 128 || !tagPattern.MatchString(tag) })
	if i >= 0 {
		return badRequest("user tag %q is invalid", tags[i])
	}
	if len(tags) > 100 {
		return badRequest("there are more than 100 user tags")
	}
	return nil
}

// check the parts of a request that need nothing else.
func (q serverRequest) check() error {
	data, err := base64.StdEncoding.DecodeString(q.UserData)
	switch {
	case !serverName.MatchString(q.ServerName):
		return badRequest("serverName %q is invalid: it must have 1 to 47 letters, digits, dashes, dots or underscores", q.ServerName)
	case !slices.Contains([]string{"dedicated", "shared", "capped"}, q.ProcType):
		return badRequest("procType %q is not dedicated, shared or capped", q.ProcType)
	case q.ProcType == "dedicated" && (q.Processors < 1 || q.Processors != math.Trunc(q.Processors)):
		return badRequest("dedicated processors must be a whole number of 1 or more, not %v", q.Processors)
	case q.Processors < 0.25 || q.Processors*4 != math.Trunc(q.Processors*4):
		return badRequest("processors must be 0.25 or more, in steps of 0.25, not %v", q.Processors)
	case q.Memory < 2:
		return badRequest("memory must be 2 GB or more, not %v", q.Memory)
	case q.StorageType != "" && !slices.Contains(tiers, q.StorageType):
		return badRequest("storageType %q does not exist", q.StorageType)
	case len(q.Networks)+len(q.NetworkIDs) == 0:
		return badRequest("networks must be set")
	case err != nil:
		return badRequest("userData is not base64")
	case len(data) > maxUserData:
		return badRequest("userData has more than %d bytes", maxUserData)
	}
	return checkTags(q.UserTags)
}

// createServer makes a server. The answer is a list.
func (p *power) createServer(w *instance, r *call) (reply, error) {
	var q serverRequest
	if err := r.into(&q); err != nil {
		return reply{}, err
	}
	if err := q.check(); err != nil {
		return reply{}, err
	}
	zone, _ := p.cloud.config.zone(w.target) // checked when it was made
	if q.SysType == "" && len(zone.SystemTypes) > 0 {
		q.SysType = zone.SystemTypes[0]
	}
	image, err := p.image(w, q.ImageID, r.now)
	switch {
	case err != nil:
		return reply{}, err
	case image.Status(r.now) != "active":
		return reply{}, badRequest("image %s is not active", q.ImageID)
	case !slices.Contains(zone.SystemTypes, q.SysType):
		return reply{}, badRequest("sysType %s is not available in %s", q.SysType, zone.Name)
	case q.KeyPairName != "" && !slices.Contains(p.cloud.config.SSHKeys, q.KeyPairName):
		return reply{}, refuse(http.StatusNotFound, "", "ssh key %s does not exist", q.KeyPairName)
	case p.servers.Any(func(s *server) bool { return s.workspace == w && s.name == q.ServerName }):
		return reply{}, refuse(http.StatusConflict, "", "a pvm-instance with the name %s already exists", q.ServerName)
	}
	if err := p.checkQuotas(w, q); err != nil {
		return reply{}, err
	}
	s := &server{workspaceObject: newWorkspaceObject(w, q.ServerName, r.now, p.cloud.config.Times.Server.Duration), request: q, image: image}
	if s.ports, err = p.portsFor(w, q); err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusAccepted, body: []any{p.wholeServer(add(p.cloud, p.servers, s), r.now)}}, nil
}

func (p *power) checkQuotas(w *instance, q serverRequest) error {
	quotas, existing := p.cloud.config.Quotas, p.servers.within(w.id)
	processors, memory := q.Processors, q.Memory
	for _, s := range existing {
		processors, memory = processors+s.request.Processors, memory+s.request.Memory
	}
	if exceeded(quotas.Servers, len(existing)+1) || exceeded(quotas.Processors, processors) || exceeded(quotas.Memory, memory) {
		return refuse(http.StatusUnprocessableEntity, "", "the quota of cloud instance %s for pvm-instances, processors or memory is exceeded", w.id)
	}
	return nil
}

// portsFor are those that a request asks for, each with an address.
func (p *power) portsFor(w *instance, q serverRequest) ([]port, error) {
	requests := q.Networks
	for _, id := range q.NetworkIDs {
		requests = append(requests, networkRequest{NetworkID: id})
	}
	var ports []port
	for _, request := range requests {
		n, found := p.networks.byID(w.id, request.NetworkID)
		if !found {
			return nil, refuse(http.StatusNotFound, "", "network %s does not exist", request.NetworkID)
		}
		if slices.ContainsFunc(ports, func(other port) bool { return other.network == n }) {
			return nil, badRequest("network %s is named twice", n.id)
		}
		address, left := p.free(n)
		if request.IPAddress != "" {
			wanted, err := netip.ParseAddr(request.IPAddress)
			if err != nil || !n.inRange(wanted) {
				return nil, badRequest("ipAddress %q is not one of network %s", request.IPAddress, n.id)
			}
			address, left = wanted, !p.taken(n, wanted)
		}
		if !left {
			return nil, badRequest("network %s has no free address", n.id)
		}
		ports = append(ports, port{network: n, address: address, mac: newMAC()})
	}
	return ports, nil
}

func newMAC() string {
	random := make([]byte, 5)
	_, _ = rand.Read(random) // never fails
	return fmt.Sprintf("fa:%02x:%02x:%02x:%02x:%02x", random[0], random[1], random[2], random[3], random[4])
}
