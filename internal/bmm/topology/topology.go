// Package topology says where an instance is and what it runs on, in the form of labels: those of nodes and those of
// OpenShift's machines are the same.
package topology

import (
	"context"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/memo"
)

// keptFor is how long names of sites and instance types are taken for current.
const keptFor = time.Hour

// Place of an instance. Each field is a valid label value, or empty if unknown.
type Place struct {
	// Zone is the site's name.
	Zone string
	// Region is the site's location: country, state and city, as far as they are known.
	Region string
	// InstanceType is the type's name.
	InstanceType string
}

// Lookup finds Places. It asks for each site and each instance type once an hour, however many instances there are.
type Lookup struct {
	sites *memo.Memo[key, *bmm.Site]
	types *memo.Memo[key, *bmm.InstanceType]
}

// key is a site or an instance type as an account sees it.
type key struct {
	account credentials.Account
	id      string
}

// NewLookup returns a Lookup that asks again so long after a call has failed.
func NewLookup(retryAfter time.Duration, clock clock.Clock) *Lookup {
	return &Lookup{
		sites: memo.New[key, *bmm.Site](keptFor, retryAfter, clock),
		types: memo.New[key, *bmm.InstanceType](keptFor, retryAfter, clock),
	}
}

// Of an instance. The errors are those of the client.
func (l *Lookup) Of(ctx context.Context, api *bmm.Client, i *bmm.Instance) (Place, error) {
	site, err := l.sites.Get(ctx, key{api.Account(), i.SiteID}, func(ctx context.Context) (*bmm.Site, error) {
		return api.Site(ctx, i.SiteID)
	})
	if err != nil {
		return Place{}, err
	}
	place := Place{Zone: Zone(site), Region: Region(site)}
	if i.InstanceTypeID == "" {
		return place, nil
	}
	of, err := l.types.Get(ctx, key{api.Account(), i.InstanceTypeID}, func(ctx context.Context) (*bmm.InstanceType, error) {
		found, err := api.InstanceType(ctx, i.SiteID, i.InstanceTypeID)
		if fault.IsNotFound(err) { // machines may outlive the type that they were picked by
			return &bmm.InstanceType{}, nil
		}
		return found, err
	})
	if err != nil {
		return Place{}, err
	}
	place.InstanceType = labelValue(of.Name)
	return place, nil
}

// Zone is the name of a site.
func Zone(site *bmm.Site) string { return labelValue(site.Name) }

// Region is the location of a site, such as "ch-zh-zurich"; empty if the site doesn't say.
func Region(site *bmm.Site) string {
	var known []string
	for _, part := range []string{site.Location.Country, site.Location.State, site.Location.City} {
		if part != "" {
			known = append(known, part)
		}
	}
	return labelValue(strings.ToLower(strings.Join(known, "-")))
}

// NVLinkDomain of an instance; empty if it is in none, or in several.
func NVLinkDomain(i *bmm.Instance) (domain string) {
	for _, n := range i.NVLinkInterfaces {
		if domain != "" && n.NVLinkDomainID != domain {
			return ""
		}
		domain = n.NVLinkDomainID
	}
	return domain
}

// notAtTheEnds are characters that a label value may have in its middle only.
const notAtTheEnds = "-_."

var notInLabels = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// labelValue is a text as near as a label may have it.
func labelValue(text string) string {
	value := strings.Trim(notInLabels.ReplaceAllString(text, "-"), notAtTheEnds)
	return strings.TrimRight(value[:min(len(value), validation.LabelValueMaxLength)], notAtTheEnds)
}
