package sim

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

const (
	defaultPageSize = 20
	defaultOrder    = "CREATED_ASC"
)

// query is what the parameters of a list ask for.
type query struct {
	pageNumber, pageSize                            *int
	orderBy                                         *string
	siteID, vpcID, tenantID, status, fullText, name *string
}

// row is what lists filter and order by.
type row struct {
	id, name, description, status string
	siteID, vpcID, tenantID       string
	labels                        api.Labels
	created, updated              time.Time
}

// selectPage returns one page of the items that the query selects, and the pagination header.
func selectPage[T any](items []T, describe func(T) row, q query) ([]T, string) {
	selected := []T{}
	for _, item := range items {
		if q.matches(describe(item)) {
			selected = append(selected, item)
		}
	}
	field, direction, _ := strings.Cut(ptr.Deref(q.orderBy, defaultOrder), "_")
	slices.SortFunc(selected, func(a, b T) int {
		order := compare(describe(a), describe(b), field)
		if direction == "DESC" {
			return -order
		}
		return order
	})
	number, size := ptr.Deref(q.pageNumber, 1), ptr.Deref(q.pageSize, defaultPageSize)
	header, _ := json.Marshal(map[string]any{ // can't fail: numbers and strings only
		"pageNumber": number, "pageSize": size, "total": len(selected), "orderBy": q.orderBy,
	})
	from := min((number-1)*size, len(selected))
	return selected[from:min(from+size, len(selected))], string(header)
}

// listOwn returns a page of the objects of a kind, as clients see them: the tenant's, and what is also visible.
func listOwn[R resource, V any](
	s *Server, kind *store[R], q query, view func(R, time.Time) V, also ...func(R) bool,
) ([]V, string) {
	var views []V
	var header string
	s.view(func(now time.Time) {
		var own []R
		for _, r := range kind.Items {
			mine := r.base().tenantID == s.config.Tenant.ID
			if mine || slices.ContainsFunc(also, func(visible func(R) bool) bool { return visible(r) }) {
				own = append(own, r)
			}
		}
		page, h := selectPage(own, func(r R) row { return rowOf(r, now) }, q)
		views, header = viewsOf(page, view, now), h
	})
	return views, header
}

// pageOf returns a page of things that clients can't change.
func pageOf[T, V any](items []T, q query, view func(T) V, describe func(V) row) ([]V, string) {
	views := make([]V, 0, len(items))
	for _, item := range items {
		views = append(views, view(item))
	}
	return selectPage(views, describe, q)
}

// viewsOf never returns nil: an empty list is [].
func viewsOf[R resource, V any](items []R, view func(R, time.Time) V, now time.Time) []V {
	views := make([]V, 0, len(items))
	for _, r := range items {
		views = append(views, view(r, now))
	}
	return views
}

func rowOf(r resource, now time.Time) row {
	o := r.base()
	return row{
		id: o.id, name: o.name, description: o.description, status: r.Status(now), siteID: o.siteID, vpcID: o.vpcID,
		tenantID: o.tenantID, labels: o.labels, created: o.Created, updated: o.Updated(now),
	}
}

func (q query) matches(r row) bool {
	for _, filter := range []struct {
		want *string
		have string
	}{{q.siteID, r.siteID}, {q.vpcID, r.vpcID}, {q.tenantID, r.tenantID}, {q.status, r.status}, {q.name, r.name}} {
		if filter.want != nil && *filter.want != filter.have {
			return false
		}
	}
	return q.fullText == nil || r.contains(*q.fullText)
}

func (r row) contains(text string) bool {
	texts := []string{r.name, r.description, r.status}
	for key, value := range r.labels {
		texts = append(texts, key, value)
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), text) })
}

func compare(a, b row, field string) int {
	var order int
	switch field {
	case "NAME":
		order = cmp.Compare(a.name, b.name)
	case "STATUS":
		order = cmp.Compare(a.status, b.status)
	case "UPDATED":
		order = a.updated.Compare(b.updated)
	default:
		order = a.created.Compare(b.created)
	}
	return cmp.Or(order, cmp.Compare(a.id, b.id))
}
