package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// doc is a JSON object of an answer.
type doc map[string]any

const (
	defaultLimit = 50
	maxLimit     = 100
)

// list answers with a page of all, as VPC and Transit Gateway do: the parameters start and limit, links to the first page and to the
// next one, and filters by parameter. A parameter that isn't known is refused, so that no client relies on it.
func list[R resource](r *call, key string, all []R, filters map[string]func(R) string, view func(R) doc) (reply, error) {
	query := r.URL.Query()
	for name := range query {
		if _, isFilter := filters[name]; !isFilter && !slices.Contains([]string{"version", "generation", "start", "limit"}, name) {
			return reply{}, refuse(http.StatusBadRequest, "bad_field", "unknown query parameter %q", name)
		}
	}
	limit := defaultLimit
	if query.Has("limit") {
		var err error
		if limit, err = strconv.Atoi(query.Get("limit")); err != nil || limit < 1 || limit > maxLimit {
			return reply{}, refuse(http.StatusBadRequest, "validation_failure", "limit must be between 1 and %d", maxLimit)
		}
	}
	all = slices.Clone(all)
	for name, value := range filters {
		if query.Has(name) {
			all = slices.DeleteFunc(all, func(one R) bool { return value(one) != query.Get(name) })
		}
	}
	slices.SortFunc(all, func(a, b R) int { return cmp.Compare(placeOf(a), placeOf(b)) })
	total := len(all)
	if start := query.Get("start"); start != "" {
		if !strings.Contains(start, "_") {
			return reply{}, refuse(http.StatusBadRequest, "validation_failure", "start is not from this list")
		}
		// Where the object itself has gone meanwhile, those behind it follow.
		all = slices.DeleteFunc(all, func(one R) bool { return placeOf(one) < start })
	}
	answer := doc{"limit": limit, "total_count": total, "first": doc{"href": pageURL(r, limit, "")}}
	if len(all) > limit {
		next := placeOf(all[limit])
		answer["next"] = doc{"href": pageURL(r, limit, next), "start": next}
		all = all[:limit]
	}
	answer[key] = docs(all, view)
	return ok(answer)
}

// docs never returns nil: an empty list is [].
func docs[R any](all []R, view func(R) doc) []doc {
	views := make([]doc, 0, len(all))
	for _, one := range all {
		views = append(views, view(one))
	}
	return views
}

// placeOf is where an object is in the order of all lists: by creation.
func placeOf(r resource) string {
	return fmt.Sprintf("%020d_%s", r.base().Created.UnixNano(), r.base().id)
}

func pageURL(r *call, limit int, start string) string {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if start != "" {
		query.Set("start", start)
	}
	return "https://" + r.Host + r.URL.Path + "?" + query.Encode()
}
