package sim

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
)

const (
	defaultPageSize = 20
	defaultOrder    = "CREATED_ASC"
)

// query is what the parameters of a list ask for.
type query struct {
	pageNumber, pageSize                  *int
	orderBy                               *string
	siteID, vpcID, status, fullText, name *string
}

// row is what lists filter and order by.
type row struct {
	id, name, status, siteID, vpcID string
	labels                          map[string]string
	created                         time.Time
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

func (q query) matches(r row) bool {
	for _, filter := range []struct {
		want *string
		have string
	}{{q.siteID, r.siteID}, {q.vpcID, r.vpcID}, {q.status, r.status}, {q.name, r.name}} {
		if filter.want != nil && *filter.want != filter.have {
			return false
		}
	}
	return q.fullText == nil || r.contains(*q.fullText)
}

func (r row) contains(text string) bool {
	text = strings.ToLower(text)
	if strings.Contains(strings.ToLower(r.name), text) {
		return true
	}
	for key, value := range r.labels {
		if strings.Contains(strings.ToLower(key), text) || strings.Contains(strings.ToLower(value), text) {
			return true
		}
	}
	return false
}

func compare(a, b row, field string) int {
	var order int
	switch field {
	case "NAME":
		order = cmp.Compare(a.name, b.name)
	case "STATUS":
		order = cmp.Compare(a.status, b.status)
	default: // nothing is ever updated, so CREATED and UPDATED are the same
		order = a.created.Compare(b.created)
	}
	return cmp.Or(order, cmp.Compare(a.id, b.id))
}
