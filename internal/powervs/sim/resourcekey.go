package sim

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"time"
)

// KindResourceKey are keys of instances.
const KindResourceKey Kind = "resourceKey"

// resourceKey lets clients use an instance.
type resourceKey struct {
	object
	source *instance
	role   string
	// apiKey is for IAM, accessKey and secretKey for signatures of Object Storage, if the key has them.
	apiKey, accessKey, secretKey string
}

// Status is always the same.
func (k *resourceKey) Status(time.Time) string { return "active" }

// Gone includes that of the instance.
func (k *resourceKey) Gone(now time.Time) bool {
	return k.Life.Gone(now) || k.source.over(now) || k.source.Gone(now)
}

type keyRequest struct {
	Name       string         `json:"name"`
	Source     string         `json:"source"`
	Role       string         `json:"role"`
	Parameters map[string]any `json:"parameters"`
}

func (s *resourceController) createKey(r *call) (reply, error) {
	var request keyRequest
	if err := r.into(&request); err != nil {
		return reply{}, err
	}
	source, found := s.byID(request.Source)
	switch {
	case !instanceName.MatchString(request.Name):
		return reply{}, refuse(http.StatusBadRequest, "RC-InvalidName", "The name cannot include any special characters other than (space) - . _ :")
	case !found:
		return reply{}, refuse(http.StatusNotFound, "RC-InstanceNotFound", "Instance not found: %s", request.Source)
	case source.Status(r.now) != "active":
		return reply{}, refuse(http.StatusUnprocessableEntity, "RC-InstanceNotActive", "The instance is in state %s.", source.Status(r.now))
	}
	key := &resourceKey{object: newObject(r.now, request.Name, source.id, 0), source: source, role: request.Role, apiKey: rand.Text()}
	if hmac, _ := request.Parameters["HMAC"].(bool); hmac && source.planID == PlanObjectStorage {
		key.accessKey, key.secretKey = randomHex(16), randomHex(24)
	}
	return reply{status: http.StatusCreated, body: s.keyView(add(s.cloud, s.keys, key))}, nil
}

func randomHex(bytes int) string {
	random := make([]byte, bytes)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}

func (s *resourceController) listKeys(r *call) (reply, error) {
	return s.keysOf(r, "/v2/resource_keys", s.keys.Items)
}

func (s *resourceController) listKeysOf(r *call) (reply, error) {
	i, err := s.known(r)
	if err != nil {
		return reply{}, err
	}
	return s.keysOf(r, r.URL.Path, s.keys.within(i.id))
}

func (s *resourceController) keysOf(r *call, path string, all []*resourceKey) (reply, error) {
	query, err := pageQuery(r)
	if err != nil {
		return reply{}, err
	}
	var found []*resourceKey
	for _, k := range all {
		if matches(query, map[string]string{
			"guid": k.id, "name": k.name, "resource_id": k.source.resourceID, "resource_group_id": k.source.groupID,
		}) {
			found = append(found, k)
		}
	}
	page, next, err := pageOf(found, query, s.cloud.config.PageSize, func(k *resourceKey) string { return k.id })
	if err != nil {
		return reply{}, err
	}
	views := []any{}
	for _, k := range page {
		views = append(views, s.keyView(k))
	}
	return ok(listed(path, views, next))
}

// keyByID finds a key by its GUID or its CRN.
func (s *resourceController) keyByID(r *call) (*resourceKey, error) {
	id := r.PathValue("id")
	k, found := s.keys.Find(func(k *resourceKey) bool { return k.id == id || s.keyCRN(k) == id })
	if !found {
		return nil, refuse(http.StatusNotFound, "RC-KeyNotFound", "Resource key not found: %s", id)
	}
	return k, nil
}

func (s *resourceController) getKey(r *call) (reply, error) {
	k, err := s.keyByID(r)
	if err != nil {
		return reply{}, err
	}
	return ok(s.keyView(k))
}

func (s *resourceController) deleteKey(r *call) (reply, error) {
	k, err := s.keyByID(r)
	if err != nil {
		return reply{}, err
	}
	k.Delete(r.now, 0)
	return reply{status: http.StatusNoContent}, nil
}

func (s *resourceController) keyCRN(k *resourceKey) string {
	return s.cloud.crn(k.source.service, k.source.target, k.source.id, "resource-key", k.id)
}

func (s *resourceController) keyView(k *resourceKey) any {
	credentials := map[string]any{
		"apikey": k.apiKey, "iam_apikey_name": k.name, "iam_apikey_description": "Auto-generated for key " + k.id,
		"resource_instance_id": k.source.crn,
	}
	if k.accessKey != "" {
		credentials["cos_hmac_keys"] = map[string]string{"access_key_id": k.accessKey, "secret_access_key": k.secretKey}
	}
	return map[string]any{
		"id": s.keyCRN(k), "guid": k.id, "crn": s.keyCRN(k), "url": "/v2/resource_keys/" + k.id, "name": k.name,
		"account_id": s.cloud.config.Account, "resource_group_id": k.source.groupID, "resource_id": k.source.resourceID,
		"source_crn": k.source.crn, "state": k.Status(k.Created), "role": k.role, "iam_compatible": true,
		"credentials": credentials, "created_at": date(k.Created), "updated_at": date(k.Created),
		"resource_instance_url": "/v2/resource_instances/" + k.source.id,
	}
}
