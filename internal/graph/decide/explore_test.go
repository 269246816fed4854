package decide

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bedplate/bedplate/internal/soaktest"
)

// worlds that are explored.
var worlds = map[string]traits{
	"tags":                           {claims: []uint8{claimCreate}, tagged: true, drifts: true, budget: 2},
	"tags, one create makes two":     {claims: []uint8{claimCreate}, tagged: true, doubles: true, budget: 1},
	"tags, and a backup":             {claims: []uint8{claimCreate}, tagged: true, restores: true, budget: 2},
	"tags, a backup, and lists hide": {claims: []uint8{claimCreate}, tagged: true, restores: true, hides: true, budget: 2},
	"tags, the claim changes":        {claims: []uint8{claimCreate, claimUse}, tagged: true, budget: 2},
	"tags, gone ones come back":      {claims: []uint8{claimCreate}, tagged: true, comesBack: true, budget: 1},
	"tags, names are unique":         {claims: []uint8{claimCreate}, tagged: true, unique: true, budget: 2},
	"tags, by name, which is unique": {claims: []uint8{claimUseOrCreate}, tagged: true, unique: true, saysWho: true, budget: 2},
	"no tags, names of our own":      {claims: []uint8{claimCreate}, budget: 2},
	"no tags, by name":               {claims: []uint8{claimUseOrCreate}, budget: 2},
	"tags, a name that is ours":      {claims: []uint8{claimCreateNamed, claimUseOrCreate}, tagged: true, unique: true, saysWho: true, budget: 2},
	"no tags, a name that is ours":   {claims: []uint8{claimCreateNamed}, budget: 2},
	"no tags, unique names of ours":  {claims: []uint8{claimCreate}, unique: true, budget: 2},
	"tags, and ours breaks":          {claims: []uint8{claimCreate}, tagged: true, drifts: true, breaks: true, budget: 2},
	"tags, by name, with a choice":   {claims: []uint8{claimUseOrCreate, claimCreate}, tagged: true, chooses: true, restores: true, budget: 3},
	"no tags, with a choice":         {claims: []uint8{claimUseOrCreate}, chooses: true, budget: 2},
	"tags, the spec names ours":      {claims: []uint8{claimCreate, claimOurs}, tagged: true, budget: 3},
	"tags, lists show what is gone":  {claims: []uint8{claimCreate}, tagged: true, lags: true, budget: 2},
	"no tags, lists show that, too":  {claims: []uint8{claimCreate}, lags: true, budget: 2},
	"tags, unique, claim changes":    {claims: []uint8{claimCreate, claimUse}, tagged: true, unique: true, budget: 2},
}

// exploration goes through the states of one world, breadth first, and stops at the first that is wrong.
type exploration struct {
	traits
	decide decider
	most   int // states

	known map[uint64]bool
	calm  map[uint64]bool
	queue []visit
	depth int
	wrong string
}

// visit of a state: how it was come to.
type visit struct {
	state
	from, depth int
	by          string
}

var seed = maphash.MakeSeed()

func (x *exploration) run() {
	x.known, x.calm = map[uint64]bool{}, map[uint64]bool{}
	from := -1
	m := &model{traits: x.traits, decide: x.decide}
	m.found = func(by string, next state) {
		hash := maphash.Comparable(seed, next)
		if x.known[hash] || x.wrong != "" {
			return
		}
		x.known[hash] = true
		v := visit{state: next, from: from, by: by}
		if from >= 0 {
			v.depth = x.queue[from].depth + 1
		}
		x.queue, x.depth = append(x.queue, v), v.depth
		if wrong := x.check(m, next); wrong != "" {
			x.wrong = wrong + x.way(len(x.queue)-1)
		}
	}
	m.found("the owner is made", x.start())
	for from = 0; from < len(x.queue) && x.wrong == "" && len(x.queue) < x.most; from++ {
		m.next(x.queue[from].state)
	}
}

// walks go far from the beginning at random, which breadth first doesn't come to in the time that there is.
func (x *exploration) walks(random *rand.Rand, most int) {
	const far = 120
	var next []visit
	m := &model{traits: x.traits, decide: x.decide}
	m.found = func(by string, s state) { next = append(next, visit{state: s, by: by}) }
	for n := 0; n < most && x.wrong == ""; {
		x.queue = []visit{{state: x.start(), from: -1, by: "the owner is made"}}
		for len(x.queue) < far && !x.queue[len(x.queue)-1].released {
			next = next[:0]
			m.next(x.queue[len(x.queue)-1].state)
			v := choose(next, random)
			v.from = len(x.queue) - 1
			x.queue = append(x.queue, v)
			x.known[maphash.Comparable(seed, v.state)] = true
			n++
			if wrong := x.check(m, v.state); wrong != "" {
				x.wrong = wrong + x.way(len(x.queue)-1)
				return
			}
		}
	}
}

// choose one of what may come next. Where processes died as often as they continue, none would come far.
func choose(next []visit, random *rand.Rand) visit {
	weight := func(v visit) int {
		switch v.by {
		case "goes on":
			return 12
		case "dies", "the owner is deleted":
			return 1
		}
		return 3
	}
	all := 0
	for _, v := range next {
		all += weight(v)
	}
	left := random.IntN(all)
	for _, v := range next {
		if left -= weight(v); left < 0 {
			return v
		}
	}
	panic("unreachable")
}

// way to a state, for debugging.
func (x *exploration) way(to int) string {
	var steps []string
	for i := to; i >= 0; i = x.queue[i].from {
		v := x.queue[i]
		steps = append([]string{fmt.Sprintf("  %s: %s", v.by, v.state)}, steps...)
	}
	return "\n" + strings.Join(steps, "\n")
}

// String is what is known of a state, for debugging.
func (s state) String() string {
	text := fmt.Sprintf("claim %d ledger%s", s.claim, s.ledger)
	for i, r := range s.resources {
		if r.exists {
			text += fmt.Sprintf(" [%d token %d theirs %t deleting %t listed %t drifted %t]", i+1, r.token, r.theirs, r.deleting, r.listed, r.drifted)
		}
	}
	text += fmt.Sprintf(" flights %v", s.flights)
	for _, p := range s.processes {
		if p.on {
			text += fmt.Sprintf(" (process fresh %t claim %d stage %d began %d ledger%s list %v answer %d)", p.fresh, p.claim, p.stage, p.began, p.ledger, p.list, p.answer)
		}
	}
	return text
}

func (r record) String() string {
	return fmt.Sprintf("{%s %d token %d at %d gone %d foreign %t}", []string{"none", "refused", "pending", "bound"}[r.state], r.id, r.token, r.at, r.goneAt, r.foreign)
}

// check says what is wrong with a state; empty if nothing is.
func (x *exploration) check(m *model, s state) string {
	live, left := 0, s.flights != [2]uint8{}
	for _, r := range s.resources {
		if r.theirs && (r.deleting || r.drifted) {
			return "the user's own is touched"
		}
		if s.ledger.foreign && s.ledger.id == named {
			return "ours has become the user's own"
		}
		if r.remedied > remedies {
			return "there are more remedies than are to be tried"
		}
		left = left || r.back
		if !r.theirs && r.exists {
			left = true
			if !r.deleting {
				live++
			}
		}
	}
	if live > 1 && !x.doubles && !x.comesBack {
		return fmt.Sprintf("there are %d for one key", live)
	}
	if s.released && left {
		return "the owner is gone, and something of its own isn't"
	}
	s.processes = [2]process{}
	hash := maphash.Comparable(seed, s)
	if x.calm[hash] || s.released {
		return ""
	}
	x.calm[hash] = true
	return x.settle(m, s)
}

// rounds in which the fixed point has to be reached once nothing fails any more.
const rounds = 14

// settle lets one process continue while nothing else happens, and says what is wrong with where that ends.
func (x *exploration) settle(m *model, s state) string {
	quiet := &model{traits: m.traits, decide: m.decide}
	quiet.found = func(string, state) {}
	var last state
	for range rounds {
		last = s
		s.processes[0] = quiet.round(s.claim, s.ledger)
		for n := 0; s.processes[0].on; n++ {
			if n > MaxSteps {
				return "a round doesn't end"
			}
			quiet.step(&s, 0)
		}
		if s.released {
			return x.checkLeft(s)
		}
		s.calmDown()
	}
	if s != last {
		return "there is no fixed point: " + fmt.Sprintf("%+v then %+v", last.ledger, s.ledger)
	}
	return x.checkFixed(s)
}

// calmDown has the service finish all that it is at.
func (s *state) calmDown() {
	for i, token := range s.flights {
		if slot := s.free(); token > 0 && slot > 0 {
			s.resources[slot-1] = resource{exists: true, token: token}
		}
		s.flights[i] = 0
	}
	for i, r := range s.resources {
		s.resources[i].listed = r.exists
		if r.deleting {
			s.resources[i] = resource{theirs: r.theirs, token: r.token, was: true}
		}
	}
	*s = s.older()
	s.before, s.tokens = record{}, min(s.tokens, 3)
}

func (x *exploration) checkLeft(s state) string {
	for _, r := range s.resources {
		if r.exists && !r.theirs {
			return "after a deletion something is left"
		}
	}
	return ""
}

// checkFixed says what is wrong with a fixed point. Where a user has to do something, that is the fixed point.
func (x *exploration) checkFixed(s state) string {
	d := x.decide(x.wish(s.claim), x.entry(s.ledger), Sight{}, epoch)
	own, bound := uint8(0), s.ledger.state == 3
	for i, r := range s.resources {
		if r.exists && !r.theirs {
			own = uint8(i + 1)
		}
	}
	full := s.free() == 0
	switch {
	case s.claim == claimNone:
		return "the owner isn't released"
	case full:
		return "" // the model has no room for another one
	case s.claim == claimUse && d.Verb == Fail, s.claim == claimUse && bound && s.ledger.foreign:
		return ""
	case s.claim == claimOurs && (d.Verb == Fail || !s.resources[named-1].exists):
		return "" // it is refused
	case s.claim == claimUseOrCreate && bound && s.ledger.foreign && s.resources[0].exists:
		return ""
	case s.claim != claimCreate && !x.tagged && s.resources[0].exists && own > 0 && !bound:
		return "" // two have the name, and nothing says which is ours
	case s.claim == claimCreateNamed && s.resources[0].exists && own == 0:
		return "" // it is in the way
	case own == 0:
		return "it isn't made"
	case !bound || s.ledger.id != own:
		return "it isn't in the ledger"
	case s.resources[own-1].drifted:
		return "it isn't as wanted"
	case s.resources[own-1].broken > 0 && s.ledger.repairs < remedies:
		return "it isn't repaired"
	case x.chooses && !s.ledger.chosen:
		return "its choice isn't kept"
	}
	return ""
}

// exploreVariable says how many states of each world are explored; `make crash` sets it.
const exploreVariable = "BEDPLATE_EXPLORE"

func TestExplore_findsNothing(t *testing.T) {
	t.Parallel()
	most := 100_000
	if text := os.Getenv(exploreVariable); text != "" {
		if _, err := fmt.Sscan(text, &most); err != nil {
			t.Fatalf("read %s: %v", exploreVariable, err)
		}
	}
	_, walkSeed := soaktest.Options(t, time.Second)
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &exploration{traits: world, decide: Next, most: most}
			began := time.Now()
			x.run()
			first := len(x.known)
			x.walks(rand.New(rand.NewPCG(walkSeed, 0)), most)
			t.Logf("%d states to depth %d, and %d more on walks, seed %d, in %s", first, x.depth, len(x.known)-first, walkSeed,
				time.Since(began).Round(time.Millisecond))
			if x.wrong != "" {
				t.Error(x.wrong)
			}
		})
	}
}
