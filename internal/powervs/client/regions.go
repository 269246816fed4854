package client

import (
	"cmp"
	"regexp"
)

var zoneNumber = regexp.MustCompile(`^(.*-[a-z]+)-[0-9]+$|^([a-z]+)[0-9]+$`)

// PowerVSRegion is the region of a zone: that of dal10 is dal, and that of eu-de-1 is eu-de. The zone us-south is a region itself.
func PowerVSRegion(zone string) string {
	parts := zoneNumber.FindStringSubmatch(zone)
	if parts == nil {
		return zone
	}
	return cmp.Or(parts[1], parts[2])
}

// VPCRegion is the region of VPC and Transit Gateway in which a zone of PowerVS is; empty if it isn't known.
func VPCRegion(zone string) string { return vpcRegions[PowerVSRegion(zone)] }

// vpcRegions by the region of PowerVS.
var vpcRegions = map[string]string{
	"che": "in-che", "dal": "us-south", "eu-de": "eu-de", "lon": "eu-gb", "mad": "eu-es", "mon": "ca-tor", "osa": "jp-osa",
	"sao": "br-sao", "syd": "au-syd", "tok": "jp-tok", "tor": "ca-tor", "us-east": "us-east", "us-south": "us-south", "wdc": "us-east",
}
