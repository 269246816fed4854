package circuit

import "time"

// crowd is a number of calls that another one has to wait for, the last of which began at a time: as long as one of them may be
// answered soon, it is worth a moment.
type crowd struct {
	number int
	since  time.Time
}

func (w *crowd) add(p *Pass) {
	if w.number++; w.number == 1 || p.began.After(w.since) {
		w.since = p.began
	}
}

// crowd is what a call has to wait for: nothing, if it may be let through. c.mu is held.
func (c *Circuits) crowd(p *Pass) (none crowd) {
	if held := c.crowdOfTenant(p); held.number > 0 {
		return held
	}
	if writes := c.crowdAtSite(p); writes.number > 0 {
		return writes
	}
	if c.trusts(p.at, p.began) {
		return c.crowdOfReads(p)
	}
	var here, tenants, all crowd
	for other := range c.passes {
		if other.Unattended || c.trusts(other.at, p.began) {
			continue
		}
		all.add(other)
		if other.Tenant == p.Tenant {
			tenants.add(other)
		}
		if other.at == p.at {
			here.add(other)
		}
	}
	silent, left := !p.at.silent.IsZero(), 0
	if silent {
		left = 1 // for those that aren't known to be slow
	}
	switch {
	case here.number > 0 && (silent || p.at.answered.IsZero()):
		return here
	case tenants.number >= maxOfTenant-left:
		return tenants
	case all.number >= maxOfAll-left:
		return all
	}
	return none
}

// crowdOfTenant is what a call has to wait for, whatever its endpoint. c.mu is held.
func (c *Circuits) crowdOfTenant(p *Pass) (none crowd) {
	var held, writes crowd
	for other := range c.passes {
		if other.Tenant != p.Tenant || other.Unattended {
			continue
		}
		held.add(other)
		if other.Change {
			writes.add(other)
		}
	}
	switch {
	case held.number >= maxHeld:
		return held
	case p.Change && writes.number >= maxWrites:
		return writes
	}
	return none
}

// crowdOfReads is what a read at an endpoint that is trusted has to wait for. c.mu is held.
func (c *Circuits) crowdOfReads(p *Pass) (none crowd) {
	if p.Change {
		return none
	}
	var reads crowd
	for other := range c.passes {
		if other.Tenant == p.Tenant && !other.Unattended && !other.Change {
			reads.add(other)
		}
	}
	if reads.number < maxReads {
		return none
	}
	return reads
}

// crowdAtSite is what a write has to wait for, behind an endpoint that answers others. c.mu is held.
func (c *Circuits) crowdAtSite(p *Pass) (none crowd) {
	if !p.Change {
		return none
	}
	var writes crowd
	for other := range c.passes {
		if other.at == p.at && other.Change && other.place() == p.place() && !other.Unattended {
			writes.add(other)
		}
	}
	most := maxOfSite
	if waited, ever := p.at.waited[p.place()]; ever && p.began.Sub(waited) < c.trial() {
		most = 1
	}
	if writes.number < most {
		return none
	}
	return writes
}
