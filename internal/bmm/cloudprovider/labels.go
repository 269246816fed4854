package cloudprovider

import (
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/topology"
)

// Additional labels. A machine's health isn't among them, because labels of a Node are never updated, nor is its rack,
// because the BMM API doesn't report it.
const (
	// LabelMachine is the ID of the physical machine.
	LabelMachine = "bmm.bedplate.dev/machine"
	// LabelNVLinkDomain is the ID of the domain whose GPUs reach each other by NVLink.
	LabelNVLinkDomain = "bmm.bedplate.dev/nvlink-domain"
)

// additionalLabels of the node of an instance, as far as the BMM API knows them.
func additionalLabels(i *bmm.Instance) map[string]string {
	labels := map[string]string{}
	if i.MachineID != "" {
		labels[LabelMachine] = i.MachineID
	}
	if domain := topology.NVLinkDomain(i); domain != "" {
		labels[LabelNVLinkDomain] = domain
	}
	return labels
}
