// Package providerid says how nodes and machines name a BMM instance.
package providerid

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Scheme of our provider IDs.
const Scheme = "nvidia-bmm"

// ProviderID names an instance of a site.
type ProviderID struct {
	SiteID, InstanceID string
}

// String is nvidia-bmm://SITE-UUID/INSTANCE-UUID.
func (p ProviderID) String() string { return Scheme + "://" + p.SiteID + "/" + p.InstanceID }

// Parse reads a provider ID. UUIDs are taken in their canonical form only, because others compare provider IDs as text.
func Parse(text string) (ProviderID, error) {
	rest, ok := strings.CutPrefix(text, Scheme+"://")
	if !ok {
		return ProviderID{}, fmt.Errorf("provider ID %q does not begin with %s://", text, Scheme)
	}
	site, instance, _ := strings.Cut(rest, "/")
	for _, part := range []string{site, instance} {
		if id, err := uuid.Parse(part); err != nil || id.String() != part {
			return ProviderID{}, fmt.Errorf("provider ID %q is not %s://SITE-UUID/INSTANCE-UUID", text, Scheme)
		}
	}
	return ProviderID{SiteID: site, InstanceID: instance}, nil
}
