package decide

// others are users, other clients and operators.
func (m *model) others(s state) {
	if s.claim != claimNone {
		n := s
		n.claim = claimNone
		m.found("the owner is deleted", n)
	}
	if s.budget == 0 || s.released {
		return
	}
	s.budget--
	for _, claim := range m.claims {
		if n := s; s.claim != claimNone && claim != s.claim {
			n.claim = claim
			m.found("the claim changes", n)
		}
	}
	for i, r := range s.resources {
		n := s
		switch {
		case i == 0 && m.titled() && (m.tagged || r.exists || s.idle()): // or else it can't be told from what we are making
			n.resources[i].exists = !r.exists
			m.found("the user makes or deletes one of that name", n)
		case r.exists && !r.theirs && !r.deleting:
			n.resources[i] = resource{token: r.token, was: true, listed: m.lags && r.listed}
			m.found("another client deletes ours", n)
			if n = s; m.drifts && !r.drifted {
				n.resources[i].drifted = true
				m.found("another client changes ours", n)
			}
			for broken := uint8(1); m.breaks && r.broken == 0 && broken <= remedies+1; broken++ {
				n = s
				n.resources[i].broken, n.resources[i].remedied = broken, 0
				m.found("ours breaks", n)
			}
		}
	}
	if m.restores {
		m.restore(s)
	}
}

// idle: nothing is being made.
func (s state) idle() bool {
	return s.ledger.state != 2 && s.flights == [2]uint8{} && !s.processes[0].on && !s.processes[1].on
}

func (m *model) restore(s state) {
	n := s
	n.backup, n.backedUp = s.ledger, true
	if n.backup != s.backup || !s.backedUp {
		m.found("a backup is made", n)
	}
	quiet := s.flights == [2]uint8{} && s.processes[0].stage != stageCreating && s.processes[1].stage != stageCreating
	for _, r := range s.resources {
		quiet = quiet && (r.listed || !r.exists)
	}
	if s.backedUp && quiet && s.backup != s.ledger {
		s.before, s.ledger = s.ledger, s.backup
		s.processes[0].fresh, s.processes[1].fresh = false, false
		m.found("the backup is restored", s)
	}
}
