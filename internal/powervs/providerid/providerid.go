// Package providerid defines how nodes and machines name a virtual machine of PowerVS.
package providerid

import (
	"fmt"
	"regexp"
	"strings"
)

// Scheme of our provider IDs, which is that of IBM's cloud controller manager.
const Scheme = "ibmpowervs"

// ProviderID names a virtual machine.
type ProviderID struct {
	// Region and Zone of the workspace, such as dal and dal10.
	Region, Zone string
	// Workspace and VM are IDs.
	Workspace, VM string
}

// String is ibmpowervs://REGION/ZONE/WORKSPACE/VM.
func (p ProviderID) String() string {
	return Scheme + "://" + strings.Join([]string{p.Region, p.Zone, p.Workspace, p.VM}, "/")
}

var pattern = regexp.MustCompile(`^` + Scheme + `://([a-z0-9-]+)/([a-z0-9-]+)/([A-Za-z0-9-]+)/([A-Za-z0-9-]+)$`)

// Parse reads a provider ID.
func Parse(text string) (ProviderID, error) {
	parts := pattern.FindStringSubmatch(text)
	if parts == nil {
		return ProviderID{}, fmt.Errorf("provider ID %q is not %s://REGION/ZONE/WORKSPACE/VM", text, Scheme)
	}
	return ProviderID{Region: parts[1], Zone: parts[2], Workspace: parts[3], VM: parts[4]}, nil
}
