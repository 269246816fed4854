package sim

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// list answers with a page of the instances that the query asks for: by default those that are active or provisioning.
func (s *resourceController) list(r *call) (reply, error) {
	query, err := pageQuery(r)
	if err != nil {
		return reply{}, err
	}
	states := []string{"active", "provisioning"}
	if state := query.Get("state"); state != "" {
		states = []string{state}
	}
	var found []*instance
	for _, i := range s.instances.Items {
		if slices.Contains(states, i.Status(r.now)) && matches(query, map[string]string{
			"guid": i.id, "name": i.name, "resource_id": i.resourceID, "resource_plan_id": i.planID,
			"resource_group_id": i.groupID, "type": "service_instance", "sub_type": "",
		}) {
			found = append(found, i)
		}
	}
	page, next, err := pageOf(found, query, s.cloud.config.PageSize, func(i *instance) string { return i.id })
	if err != nil {
		return reply{}, err
	}
	views := []any{}
	for _, i := range page {
		views = append(views, s.view(i, r.now))
	}
	return ok(listed("/v2/resource_instances", views, next))
}

// listed is a page. The last one has no next one.
func listed(path string, views []any, next string) map[string]any {
	list := map[string]any{"rows_count": len(views), "next_url": nil, "resources": views}
	if next != "" {
		list["next_url"] = path + "?start=" + url.QueryEscape(next)
	}
	return list
}

// matches reports whether something has all values that a query has for its fields.
func matches(query url.Values, fields map[string]string) bool {
	for name, value := range fields {
		if wanted := query.Get(name); wanted != "" && wanted != value {
			return false
		}
	}
	return true
}

// pageQuery is the query of a list: that of its first page, which the token of a later page has in it.
func pageQuery(r *call) (url.Values, error) {
	token := r.query("start")
	if token == "" {
		return r.URL.Query(), nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		var query url.Values
		if query, err = url.ParseQuery(string(text)); err == nil {
			return query, nil
		}
	}
	return nil, refuse(http.StatusBadRequest, "RC-InvalidStart", "The start token is invalid.")
}

// pageOf is a page of what was found, and the token of the next one.
func pageOf[T any](found []T, query url.Values, size int, id func(T) string) (page []T, next string, _ error) {
	if limit := query.Get("limit"); limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil || n < 1 || n > 100 {
			return nil, "", refuse(http.StatusBadRequest, "RC-InvalidLimit", "The limit must be 1 to 100, not %q.", limit)
		}
		size = n
	}
	if after := query.Get("after"); after != "" {
		i := slices.IndexFunc(found, func(t T) bool { return id(t) == after })
		found = found[i+1:] // from the beginning if that is gone
	}
	if len(found) <= size {
		return found, "", nil
	}
	query.Set("after", id(found[size-1]))
	return found[:size], base64.RawURLEncoding.EncodeToString([]byte(query.Encode())), nil
}
