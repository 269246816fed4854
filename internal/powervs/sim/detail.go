package sim

// The details of objects: what their clients have asked for, or what follows from that.

func idsOf[R resource](all []R) []string {
	ids := []string{}
	for _, one := range all {
		ids = append(ids, one.base().id)
	}
	return ids
}

func (i *instance) detail() doc {
	return doc{"plan": i.service, "target": i.target, "group": i.groupID}
}

func (d *dhcpServer) detail() doc {
	return doc{"network": d.network.id, "cidr": d.cidr, "dns": d.network.dnsServers, "snat": d.snat}
}

func (v *vpc) detail() doc { return doc{"region": v.region, "group": v.group.ID} }

func (s *subnet) detail() doc {
	return doc{"zone": s.zone, "cidr": s.cidr, "group": s.group.ID}
}

func (g *securityGroup) detail() doc { return doc{"group": g.group.ID} }

func (r *securityRule) detail() doc {
	view := r.view()
	for _, generated := range []string{"id", "name", "href", "resource_type", "local"} {
		delete(view, generated)
	}
	if r.Remote.group != nil {
		view["remote"] = r.Remote.group.id
	}
	return view
}

func (b *balancer) detail() doc {
	return doc{"public": b.public, "subnets": idsOf(b.subnets), "groups": idsOf(b.groups), "group": b.group.ID}
}

func (l *listener) detail() doc {
	d := doc{"port": l.Port, "protocol": l.Protocol}
	if l.pool != nil {
		d["pool"] = l.pool.name
	}
	return d
}

func (p *backendPool) detail() doc {
	return doc{"algorithm": p.Algorithm, "protocol": p.Protocol, "monitor": p.HealthMonitor}
}

func (m *poolMember) detail() doc { return doc{"port": m.port, "address": m.address} }

func (g *gateway) detail() doc {
	return doc{"location": g.location, "global": g.global, "group": g.group.ID}
}

func (c *connection) detail() doc { return doc{"type": c.network.sort, "network": c.network.name} }

func (b *bucket) detail() doc { return doc{"location": b.location} }
