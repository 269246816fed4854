package sim

import "net/http"

// ServeHTTP serves all services at one address, at the paths of the real ones but for VPC, whose regions are below /vpc/REGION. What is
// no other service's path is a bucket, so none can be called identity, pcloud, simulator, v1, v2 or vpc.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.all.ServeHTTP(w, r) }

// atOneAddress routes requests to the services.
func (c *Cloud) atOneAddress() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, service := range map[string]http.Handler{
		"/":                     c.cos,
		"/simulator/":           c.admin,
		"/identity/":            c.iam,
		"/v2/resource_groups":   c.manager,
		"/v2/resource_groups/":  c.manager,
		"/v2/":                  c.controller,
		"/v1/datacenters":       c.power,
		"/v1/datacenters/":      c.power,
		"/pcloud/":              c.power,
		"/v1/transit_gateways":  c.transit,
		"/v1/transit_gateways/": c.transit,
	} {
		mux.Handle(pattern, service)
	}
	for name, region := range c.vpc.regions {
		prefix := "/vpc/" + name
		mux.Handle(prefix+"/", http.StripPrefix(prefix, region))
	}
	return mux
}
