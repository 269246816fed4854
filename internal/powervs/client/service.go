package client

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Service is one of the services of IBM Cloud, by its name in --service-endpoint.
type Service string

// The services. PowerVS, VPC and Object Storage have an API in each region, the others one for all.
const (
	ServiceIAM                Service = "iam"
	ServiceResourceManager    Service = "rm"
	ServiceResourceController Service = "rc"
	ServicePowerVS            Service = "powervs"
	ServiceVPC                Service = "vpc"
	ServiceTransitGateway     Service = "transitgateway"
	ServiceCOS                Service = "cos"
)

// regionMark stands for the region in an endpoint.
const regionMark = "{region}"

// known are the services, with their names in messages and their endpoints.
var known = map[Service]struct{ name, endpoint string }{
	ServiceIAM:                {"IAM", "https://iam.cloud.ibm.com"},
	ServiceResourceManager:    {"Resource Manager", "https://resource-controller.cloud.ibm.com"},
	ServiceResourceController: {"Resource Controller", "https://resource-controller.cloud.ibm.com"},
	ServicePowerVS:            {"PowerVS", "https://{region}.power-iaas.cloud.ibm.com"},
	ServiceVPC:                {"VPC", "https://{region}.iaas.cloud.ibm.com/v1"},
	ServiceTransitGateway:     {"Transit Gateway", "https://transit.cloud.ibm.com/v1"},
	ServiceCOS:                {"Object Storage", "https://s3.{region}.cloud-object-storage.appdomain.cloud"},
}

// regional reports whether a service has an API in each region.
func (s Service) regional() bool { return strings.Contains(known[s].endpoint, regionMark) }

// secretKey is the key of its endpoint in a Secret.
func (s Service) secretKey() string { return string(s) + "Endpoint" }

// ServiceEndpoints are URLs by region and service, in place of the public ones.
type ServiceEndpoints map[string]map[Service]string

var regionName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// ParseServiceEndpoints reads the flag --service-endpoint: REGION:SERVICE=URL,SERVICE=URL;REGION:… The region of powervs is that of
// PowerVSRegion.
// A service that isn't in regions has one URL, in whichever region it is written.
func ParseServiceEndpoints(flag string) (ServiceEndpoints, error) {
	endpoints := ServiceEndpoints{}
	for part := range strings.SplitSeq(flag, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		region, list, ok := strings.Cut(part, ":")
		if !ok || !regionName.MatchString(region) {
			return nil, fmt.Errorf("service endpoint %q must look like REGION:SERVICE=URL,SERVICE=URL", part)
		}
		if endpoints[region] == nil {
			endpoints[region] = map[Service]string{}
		}
		for pair := range strings.SplitSeq(list, ",") {
			if err := endpoints.add(region, strings.TrimSpace(pair)); err != nil {
				return nil, err
			}
		}
	}
	return endpoints, nil
}

func (e ServiceEndpoints) add(region, pair string) error {
	name, url, ok := strings.Cut(pair, "=")
	service := Service(name)
	if _, isKnown := known[service]; !ok || !isKnown || url == "" {
		return fmt.Errorf("service endpoint %q must look like SERVICE=URL, with one of the services %v", pair, slices.Sorted(maps.Keys(known)))
	}
	other := e[region][service]
	if !service.regional() {
		other = e.of(place{service: service})
	}
	if other != "" && other != url {
		return errors.New("there are two service endpoints of " + name + ": leave one")
	}
	e[region][service] = url
	return nil
}

// of is the URL of a service in a region; empty if there is none.
func (e ServiceEndpoints) of(at place) string {
	if at.service.regional() {
		return e[at.region][at.service]
	}
	for _, endpoints := range e {
		if url := endpoints[at.service]; url != "" {
			return url
		}
	}
	return ""
}
