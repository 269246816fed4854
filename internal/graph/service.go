package graph

import (
	"cmp"
	"time"
)

// Service is one outside API, with an endpoint, limits and outages of its own: one that refuses credentials or doesn't answer stops
// the nodes of its kinds, and no others. What is zero is as the Engine has it.
type Service struct {
	// Endpoint is where it is: creates at the same one are limited together, whatever their credentials. By default it is the
	// credentials.
	Endpoint string
	// Creates is how many are at work at the endpoint at once, at most.
	Creates int
	// Poll, CreateTimeout and Settle are as in Engine. Settle is at least twice CreateTimeout.
	Poll, CreateTimeout, Settle time.Duration
}

// inside is where gates look: Kubernetes.
var inside = &Service{}

// service with what it doesn't say itself.
func (e *Engine) service(s *Service) Service {
	var all Service
	if s != nil {
		all = *s
	}
	all.Poll, all.CreateTimeout = cmp.Or(all.Poll, e.Poll), cmp.Or(all.CreateTimeout, e.CreateTimeout)
	all.Settle = max(cmp.Or(all.Settle, e.Settle), 2*all.CreateTimeout)
	return all
}

// slowly is how often something is looked at that won't change by itself soon.
func (s Service) slowly() time.Duration { return 10 * s.Poll }
