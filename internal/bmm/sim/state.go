package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bedplate/bedplate/internal/simulator"
)

// state is all that exists. Server.mu protects it. What an object's status is follows from the clock, so nothing has
// to be driven; only a machine needs a timer that powers it on.
type state struct {
	started     time.Time
	tenantKnown bool
	random      *rand.Rand
	machines    []*machine
	// sites has the state of those sites that aren't online.
	sites map[string]SiteState

	ipBlocks    store[*ipBlock]
	allocations store[*allocation]
	groups      store[*group]
	vpcs        store[*vpc]
	subnets     store[*subnet]
	prefixes    store[*prefix]
	peerings    store[*peering]
	instances   store[*instance]

	// usedVPCIDs has the ID of every VPC that ever was: deletes are soft and the ID is the primary key.
	usedVPCIDs map[string]bool
	releases   []Release

	// creating is how many creates the service or a site is at work on, whether their clients have left or not.
	creating int
	// strays stand at a site and aren't known to the API.
	strays []stray
}

func newState(config Config, now time.Time) state {
	s := state{
		started:     now,
		tenantKnown: !config.FirstUse,
		random:      rand.New(rand.NewPCG(config.Seed, config.Seed)), //nolint:gosec // must repeat; no secret comes from it
		sites:       map[string]SiteState{},
		ipBlocks:    store[*ipBlock]{what: "IP Block"},
		allocations: store[*allocation]{what: "Allocation"},
		groups:      store[*group]{what: "Network Security Group"},
		vpcs:        store[*vpc]{what: "VPC"},
		subnets:     store[*subnet]{what: "Subnet"},
		prefixes:    store[*prefix]{what: "VPC Prefix"},
		peerings:    store[*peering]{what: "VPC peering"},
		instances:   store[*instance]{what: "Instance"},
		usedVPCIDs:  map[string]bool{},
		releases:    []Release{},
	}
	for _, block := range config.IPBlocks {
		s.ipBlocks.Add(worldBlock(block, now))
	}
	for _, instanceType := range config.InstanceTypes {
		for range instanceType.Machines {
			number := len(s.machines) + 1
			s.machines = append(s.machines, &machine{
				Life: simulator.NewLife(now, 0), id: fmt.Sprintf("fm100ht%030d", number),
				siteID: instanceType.SiteID, typeID: instanceType.ID, number: number,
			})
		}
	}
	return s
}

// each calls do for every object of every kind.
func (s *state) each(do func(resource)) {
	eachOf(s.ipBlocks, do)
	eachOf(s.allocations, do)
	eachOf(s.groups, do)
	eachOf(s.vpcs, do)
	eachOf(s.subnets, do)
	eachOf(s.prefixes, do)
	eachOf(s.peerings, do)
	eachOf(s.instances, do)
}

func eachOf[R resource](kind store[R], do func(resource)) {
	for _, r := range kind.Items {
		do(r)
	}
}

// forget drops what is gone by now.
func (s *state) forget(now time.Time) {
	s.ipBlocks.Forget(now)
	s.allocations.Forget(now)
	s.groups.Forget(now)
	s.vpcs.Forget(now)
	s.subnets.Forget(now)
	s.prefixes.Forget(now)
	s.peerings.Forget(now)
	s.instances.Forget(now)
}

// between returns a random duration.
func (s *state) between(low, high time.Duration) time.Duration {
	return low + time.Duration(s.random.Float64()*float64(high-low))
}

// view runs read under the lock, on a state from which everything that is gone has been dropped.
func (s *Server) view(read func(now time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	s.state.forget(now)
	read(now)
}

// change is like view, for something that may be refused.
func (s *Server) change(write func(now time.Time) error) error {
	var err error
	s.view(func(now time.Time) { err = write(now) })
	return err
}

// me makes objects for the tenant.
func (s *Server) me() maker { return maker{tenantID: s.config.Tenant.ID} }

// show returns one of the tenant's objects, as clients see it.
func show[R resource, V any](s *Server, kind *store[R], id string, view func(R, time.Time) V) (V, error) {
	var v V
	err := s.change(func(now time.Time) error {
		r, err := kind.get(s.config.Tenant.ID, id)
		if err == nil {
			v = view(r, now)
		}
		return err
	})
	return v, err
}
