package decide

import (
	"time"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// decider is decide, or a version of it that is broken on purpose.
type decider func(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step

// model finds what may happen next in a world.
type model struct {
	traits
	decide decider
	// found is called with each state that may come next, and its cause.
	found func(by string, next state)
}

// next finds all states that may follow one.
func (m *model) next(s state) {
	for i := range s.processes {
		m.process(s, i)
	}
	m.service(s)
	m.others(s)
}

// process begins a round, continues with it, or dies. A call that fails is a death before it or after it.
func (m *model) process(s state, i int) {
	p := s.processes[i]
	if !p.on {
		if !s.released {
			m.begin(s, i)
		}
		return
	}
	dead := s
	dead.processes[i] = process{}
	m.found("dies", dead)
	if p.stage == stageCreating {
		m.unanswered(dead, p)
		m.repeated(s, i)
	}
	if m.lags {
		m.newest(s, i)
	}
	if m.hides {
		m.hidden(s, i)
	}
	m.step(&s, i)
	m.found("goes on", s)
}

// hidden has a process continue with a list that doesn't show ours. Where nothing was listed before in the round, the sweep lists twice.
func (m *model) hidden(s state, i int) {
	p := &s.processes[i]
	sweeps := p.stage == stageSweeping && p.listed
	lists := p.stage == stageDeciding && m.comesNext(&s, p).Verb == LookByName
	if p.hid || !sweeps && !lists {
		return
	}
	shown := s.resources
	for j := range s.resources {
		s.resources[j].listed = s.resources[j].listed && s.resources[j].theirs
	}
	m.step(&s, i)
	s.resources, p.hid = shown, p.on
	m.found("goes on with a list that hides ours", s)
}

// newest has a process continue with a list that isn't behind, although others may be, before it and after it.
func (m *model) newest(s state, i int) {
	behind := s.resources
	for j, r := range s.resources {
		s.resources[j].listed = r.listed && r.exists
	}
	m.step(&s, i)
	for j := range s.resources {
		s.resources[j].listed = s.resources[j].listed || behind[j].listed
	}
	m.found("goes on with the newest list", s)
}

// round begins.
func (m *model) round(claim uint8, ledger record) process {
	p := process{on: true, fresh: true, began: 1, claim: claim, ledger: ledger}
	if p.claim == claimNone && p.ledger.state == 0 {
		p.stage = stageSweeping
	}
	return p
}

func (m *model) begin(s state, i int) {
	p := m.round(s.claim, s.ledger)
	p.first = s.tokens == 0 && s.ledger == record{} && s.before == record{}
	s.processes[i] = p
	m.found("begins", s)
	if s.before != s.ledger {
		behind := m.round(s.claim, s.before)
		behind.fresh = false
		s.processes[i] = behind
		m.found("begins with a cache that is behind", s)
	}
}

// unanswered is for a create that was sent by a process that has died: the service may still work on it, or create two.
func (m *model) unanswered(s state, p process) {
	if p.ledger.at != 1 || m.taken(&s) > 0 {
		return
	}
	for i, busy := range s.flights {
		if busy == 0 {
			s.flights[i] = p.ledger.token
			m.found("its create isn't answered", s)
			return
		}
	}
}

// repeated is for a create whose first answer was lost on the way, and that the client has sent once more: the name is taken.
func (m *model) repeated(s state, i int) {
	p := &s.processes[i]
	slot := s.free()
	if !m.unique || slot == 0 || p.ledger.at != 1 || m.taken(&s) > 0 {
		return
	}
	s.resources[slot-1] = resource{exists: true, token: p.ledger.token}
	m.create(&s, p)
	m.found("its create is sent twice", s)
}

// step is the next one of a process that nothing happens to.
func (m *model) step(s *state, i int) {
	p := &s.processes[i]
	switch p.stage {
	case stageCreating:
		m.create(s, p)
	case stageSweeping:
		m.sweep(s, p)
	default:
		m.do(s, p, m.comesNext(s, p))
	}
}

func (m *model) comesNext(s *state, p *process) Step {
	w := m.wish(p.claim)
	w.New = p.first
	return m.decide(w, m.entry(p.ledger), m.sight(s, p), epoch)
}

func (m *model) do(s *state, p *process, d Step) {
	slot := slotOf(d.ID)
	switch d.Verb {
	case LookByID:
		p.looked, p.seen = slot, s.resources[slot-1].seen()
		p.gone[slot-1] = p.seen == 0 && !m.comesBack
	case LookUp:
		p.looked = slotOf(m.wish(p.claim).Claim.ID)
		p.seen = s.resources[p.looked-1].seen()
	case LookByName:
		m.list(s, p)
	case Compare:
		p.compared, p.changes = true, s.resources[slot-1].drifted
	case Pick:
		p.chosen = true
	case TakeTurn:
		p.turn = true
	case Prepare:
		s.tokens++
		p.token, p.chosen = s.tokens, m.chooses
	case Create:
		if m.write(s, p, d) {
			p.stage, p.listed, p.twice, p.list, p.gone = stageCreating, false, false, [slots]uint8{}, [slots]bool{}
		}
	case Apply:
		if d.Entry == nil || m.write(s, p, d) {
			s.resources[p.ledger.id-1].drifted, p.applied = false, true
		}
	case Remedy:
		if m.write(s, p, d) {
			r := &s.resources[p.ledger.id-1]
			p.mended, r.broken, r.remedied = true, max(r.broken, 1)-1, r.remedied+1
		}
	case Remove:
		if !p.wrote && !p.fresh {
			*p = process{}
			return
		}
		if !m.current(s, p) {
			return
		}
		r := &s.resources[slot-1]
		r.deleting, p.asked[slot-1] = r.exists, true
	default:
		m.finish(s, p, d)
	}
}

// current ends the round of a process whose spec isn't the newest.
func (m *model) current(s *state, p *process) bool {
	if p.claim == claimNone || p.claim == s.claim {
		return true
	}
	*p = process{}
	return false
}

// finish writes what a step says, and ends the round where it does.
func (m *model) finish(s *state, p *process, d Step) {
	lets, another := d.Verb == Release || d.Verb == Forget, p.ledger.foreign || m.wish(p.claim).Claim.Uses
	if lets && another && !m.current(s, p) || (lets || d.Entry != nil) && !m.write(s, p, d) {
		return
	}
	switch {
	case !d.Ends:
	case p.claim == claimNone && p.ledger.state == 0:
		p.stage = stageSweeping
	default:
		*p = process{}
	}
}

// write succeeds on the newest ledger only. An intention is written only after the owner was read just before. A write that
// fails ends the round.
func (m *model) write(s *state, p *process, d Step) bool {
	if !p.fresh || s.released || (d.Verb == Create && s.claim == claimNone) {
		*p = process{}
		return false
	}
	s.before, s.ledger = s.ledger, recordOf(d.Entry)
	for i := range s.processes {
		s.processes[i].fresh = s.processes[i].on && &s.processes[i] == p
	}
	p.ledger, p.wrote = s.ledger, true
	switch id := p.ledger.id; {
	case id == 0:
	case p.list[id-1] > 0:
		p.looked, p.seen = id, p.list[id-1]
	case p.answer == answerMade && p.answerID == id:
		p.looked, p.seen = id, 1
	}
	return true
}

func (r resource) seen() uint8 {
	switch {
	case !r.exists:
		return 0
	case r.deleting:
		return 2
	case r.broken > 0:
		return 3
	}
	return 1
}

func (m *model) list(s *state, p *process) {
	p.twice, p.listed, p.hid = p.listed, true, false
	for i, r := range s.resources {
		switch p.list[i] = 0; {
		case !r.listed || r.theirs && !m.titled():
		case r.exists:
			p.list[i] = r.seen()
		case !r.theirs: // the list is behind
			p.list[i] = 1
		}
	}
}

// create is sent, unless its process was held up, and answered.
func (m *model) create(s *state, p *process) {
	p.stage = stageDeciding
	slot, taken := s.free(), m.taken(s)
	switch {
	case taken > 0 && p.ledger.at == 1:
		p.answer = answerTaken
		if m.saysWho {
			p.answerID = taken
		}
	case slot == 0, p.ledger.at != 1:
		p.answer = answerRefused
	default:
		s.resources[slot-1] = resource{exists: true, listed: true, token: p.ledger.token}
		p.answer, p.answerID = answerMade, slot
	}
}

// sweep is the end of a deletion: where nothing carries the owner's ID the finalizer comes off.
func (m *model) sweep(s *state, p *process) {
	m.list(s, p)
	for i, seen := range p.list {
		if seen > 0 && m.tagged && !s.resources[i].theirs {
			m.write(s, p, Step{Verb: Adopt, Entry: &ledgerv1.Entry{Kind: "thing", State: ledgerv1.Bound, ID: idOf(uint8(i + 1)), Proven: idOf(uint8(i + 1))}})
			*p = process{}
			return
		}
	}
	s.released = p.fresh
	*p = process{}
}

// free is a slot for another resource of ours; 0 if there is none.
func (s *state) free() uint8 {
	for i := uint8(1); i < slots; i++ {
		if s.resources[i] == (resource{}) {
			return i + 1
		}
	}
	return 0
}

// taken is what has the name already, where only one may have it.
func (m *model) taken(s *state) uint8 {
	for i, r := range s.resources {
		if m.unique && r.exists && (!r.theirs || m.titled()) {
			return uint8(i + 1)
		}
	}
	return 0
}

// service continues its work.
func (m *model) service(s state) {
	settledAll := true
	for i, token := range s.flights {
		if token == 0 {
			continue
		}
		settledAll = false
		lost := s
		lost.flights[i] = 0
		m.found("a create is lost", lost)
		m.commit(lost, token)
	}
	for i, r := range s.resources {
		n := s
		for j := range n.resources { // what one create has made is shown together
			n.resources[j].listed = n.resources[j].listed || n.resources[j].exists && n.resources[j].token == r.token
		}
		if !r.exists && r.listed && !r.theirs {
			settledAll = false
			gone := s
			gone.resources[i].listed = false
			m.found("no list shows it any more", gone)
		}
		if r.exists && !r.listed {
			settledAll = false
			m.found("a list shows it", n)
		}
		if n = s; r.deleting && r.exists {
			n.resources[i] = resource{theirs: r.theirs, token: r.token, back: m.comesBack && !r.was, was: true, listed: m.lags && r.listed}
			m.found("one is gone", n)
		}
		if n = s; r.back {
			n.resources[i] = resource{exists: true, listed: true, token: r.token, was: true}
			m.found("one comes back", n)
		}
	}
	if settledAll {
		m.found("time passes", s.older())
	}
}

func (m *model) commit(s state, token uint8) {
	slot := s.free()
	if slot == 0 || m.taken(&s) > 0 {
		return
	}
	s.resources[slot-1] = resource{exists: true, token: token}
	m.found("a create is done late", s)
	if slot = s.free(); slot > 0 && m.doubles && !m.unique {
		s.resources[slot-1] = resource{exists: true, token: token}
		m.found("a create is done twice", s)
	}
}

// older is the state a tick later. What came back is for good, what didn't stays away.
func (s state) older() state {
	for _, r := range []*record{&s.ledger, &s.before, &s.backup, &s.processes[0].ledger, &s.processes[1].ledger} {
		for _, age := range []*uint8{&r.at, &r.goneAt, &r.appliedAt, &r.unready, &r.repairedAt} {
			if *age > 0 {
				*age = min(*age+1, 3)
			}
		}
	}
	for i := range s.processes {
		if p := &s.processes[i]; p.began > 0 {
			p.began = min(p.began+1, 3)
		}
	}
	for i := range s.resources {
		s.resources[i].back = false
	}
	return s
}
