// Package providerid defines how nodes and machines name a BMM instance.
package providerid

import (
	"fmt"
	"regexp"
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

// ForeignError says that a provider ID is well-formed, but not ours: another cloud's, or another program's for the same
// service (nico://org/tenant/site/id, nvidia-carbide://…). It says nothing of an instance of ours.
type ForeignError struct{ Text, Scheme string }

// Error names the provider ID.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("provider ID %q is of another provider, %s: ours begin with %s://", e.Text, e.Scheme, Scheme)
}

// schemePattern is what comes before :// in a URI (RFC 3986, 3.1).
var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// Parse reads a provider ID. UUIDs are taken in their canonical form only, because others compare provider IDs as text. The
// error is a *ForeignError where the ID isn't ours at all.
func Parse(text string) (ProviderID, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if ok && rest != "" && scheme != Scheme && schemePattern.MatchString(scheme) {
		return ProviderID{}, &ForeignError{Text: text, Scheme: scheme}
	}
	site, instance, _ := strings.Cut(rest, "/")
	if scheme != Scheme || !IsCanonical(site) || !IsCanonical(instance) {
		return ProviderID{}, fmt.Errorf("provider ID %q is not %s://SITE-UUID/INSTANCE-UUID", text, Scheme)
	}
	return ProviderID{SiteID: site, InstanceID: instance}, nil
}

// IsCanonical reports whether a text is a UUID as the BMM API writes it.
func IsCanonical(text string) bool {
	id, err := uuid.Parse(text)
	return err == nil && id.String() == text
}
